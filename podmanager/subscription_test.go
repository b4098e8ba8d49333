package podmanager_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

// TestSubscribe_NamesThatChange: each change of a pod or mirror pod is reported by full name, once
// until it is taken. A subscription starts with all names.
func TestSubscribe_NamesThatChange(t *testing.T) {
	s := storeOf(staticPod("a", "web"))
	woken := 0
	sub := s.Subscribe(func() { woken++ })
	assert.Equal(t, []string{"web_ns"}, sub.TakeAll(nil))
	assert.Equal(t, 1, woken)

	s.AddPod(mirrorPod("m", "web"))
	s.UpdatePod(mirrorPod("m", "web"))
	assert.Equal(t, 2, woken, "woken once until the names are taken")
	assert.Equal(t, []string{"web_ns"}, sub.TakeAll(nil))
	s.UpdatePod(staticPod("a", "db"))
	assert.Equal(t, []string{"web_ns", "db_ns"}, sub.TakeAll(nil), "the name that it had, too")
	s.RemovePod(staticPod("a", ""))
	s.RemovePod(staticPod("unknown", ""))
	s.RemovePod(mirrorPod("m", ""))
	assert.Equal(t, []string{"db_ns", "web_ns"}, sub.TakeAll(nil))
	s.SetPods(nil)
	assert.Nil(t, sub.TakeAll(nil))
	s.AddPod(staticPod("a", "web"))
	s.SetPods([]*v1.Pod{staticPod("b", "api")})
	assert.Equal(t, []string{"web_ns", "api_ns"}, sub.TakeAll(nil))

	sub.Close()
	sub.Close()
	s.RemovePod(staticPod("b", ""))
	assert.Nil(t, sub.TakeAll(nil))
}

// TestStore_PodsOfName: pods of several sources may have one name.
func TestStore_PodsOfName(t *testing.T) {
	s := storeOf(staticPod("a", "web"), newPod("b", "web"), staticPod("c", "db"), mirrorPod("m", "web"))
	var uids []string
	for _, p := range s.GetPodsOfName("ns", "web") {
		uids = append(uids, string(p.UID))
	}
	assert.Equal(t, []string{"b", "a"}, uids)
	assert.Empty(t, s.GetPodsOfName("other", "web"))
	m, ok := s.GetMirrorPodByName("ns", "web")
	assert.True(t, ok)
	assert.Equal(t, "m", string(m.UID))
	_, ok = s.GetMirrorPodByName("ns", "db")
	assert.False(t, ok)
}
