package allocation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestChain_NewSnapshot_KeepsPods: NewSnapshot counts two pods with one UID twice, and does not change the pods of
// its caller.
func TestChain_NewSnapshot_KeepsPods(t *testing.T) {
	c := NewChain(PodCount(2))
	pods := []Pod{c.Pod(&v1.Pod{}, "", false), c.Pod(&v1.Pod{}, "", false)}
	pods[0].UID, pods[1].UID = "a", "a"
	beside := c.NewSnapshot(pods...)
	assert.Equal(t, 2, beside.Staying.Len())
	assert.Equal(t, []types.UID{"a", "a"}, []types.UID{pods[0].UID, pods[1].UID})
}

// TestNewChain_KeepsRules: a chain does not change with the list of rules that NewChain has received.
func TestNewChain_KeepsRules(t *testing.T) {
	rules := []Rule{PodCount(1)}
	c := NewChain(rules...)
	rules[0] = nil
	pod := c.Pod(&v1.Pod{}, "", false)
	assert.Len(t, c.Check(0, &pod, c.NewSnapshot(pod)), 1)
}
