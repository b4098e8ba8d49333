package watchcache_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/internal/watchcache"
)

// Changes that fill the bound exactly are all kept. One byte more drops changes until half of the bound is
// left.
func TestLimitSize_ExactBound(t *testing.T) {
	oldest := func(sizes ...int) uint64 {
		c := watchcache.New[*v1.Pod](0, 16, nil)
		c.LimitSize(8, func(pod *v1.Pod) int { return len(pod.Labels["l"]) })
		for i, size := range sizes {
			name := fmt.Sprint(i)
			c.Set(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"l": strings.Repeat("x", size)}}})
		}
		changes, ok := c.ChangesSince(c.Oldest())
		assert.True(t, ok)
		assert.Len(t, changes, len(sizes)-int(c.Oldest()))
		assert.Equal(t, len(changes), cap(changes), "it is made as large as it gets")
		return c.Oldest()
	}
	assert.Zero(t, oldest(2, 2, 2, 2))
	assert.EqualValues(t, 3, oldest(2, 2, 2, 2, 2), "four bytes stay")
	assert.EqualValues(t, 4, oldest(2, 2, 2, 2, 3), "five would be too many")
}
