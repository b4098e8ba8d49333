package dirty

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

func TestRemove_NeverTakenSetDoesNotGrow(t *testing.T) {
	s := New[*int](nil, nil)
	s.Add("stays", new(int))
	for i := range 10_000 {
		uid := types.UID(fmt.Sprint(i))
		s.Add(uid, new(int))
		s.Remove(uid)
	}
	assert.LessOrEqual(t, len(s.mu.entries), 32)
	assert.Equal(t, 1, s.Len())
	for _, e := range s.mu.entries[:cap(s.mu.entries)][len(s.mu.entries):] {
		assert.Nil(t, e.Value, "a dropped value is not kept alive")
	}
}
