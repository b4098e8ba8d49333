package podmanager_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager"
)

// model is a list of the pods in order of arrival; every query searches it. naming is the order in
// which pods got their present names.
type model struct {
	pods   []*v1.Pod
	naming map[types.UID]int
	tick   int
}

func (m *model) findPod(ok func(*v1.Pod) bool) int { return slices.IndexFunc(m.pods, ok) }

func (m *model) removePod(uid types.UID) {
	m.pods = slices.DeleteFunc(m.pods, func(p *v1.Pod) bool { return p.UID == uid })
	delete(m.naming, uid)
}

func (m *model) putPod(p *v1.Pod) {
	m.tick++
	if podmanager.IsMirrorPod(p) {
		if i := m.findPod(func(q *v1.Pod) bool {
			return podmanager.IsMirrorPod(q) && q.Name == p.Name && q.UID != p.UID
		}); i >= 0 {
			m.removePod(m.pods[i].UID)
		}
	}
	i := m.findPod(func(q *v1.Pod) bool { return q.UID == p.UID })
	switch {
	case i < 0:
		m.pods = append(m.pods, p)
		m.naming[p.UID] = m.tick
	case podmanager.IsMirrorPod(m.pods[i]) != podmanager.IsMirrorPod(p):
		m.removePod(p.UID)
		m.pods = append(m.pods, p)
		m.naming[p.UID] = m.tick
	default:
		if m.pods[i].Name != p.Name {
			m.naming[p.UID] = m.tick
		}
		m.pods[i] = p
	}
}

// podNamed returns the pod or mirror pod that got the name last.
func (m *model) podNamed(name string, mirror bool) *v1.Pod {
	var newest *v1.Pod
	for _, p := range m.pods {
		if p.Name == name && podmanager.IsMirrorPod(p) == mirror &&
			(newest == nil || m.naming[p.UID] > m.naming[newest.UID]) {
			newest = p
		}
	}
	return newest
}

func TestStore_AnswersLikeASearch(t *testing.T) {
	names := []string{"x", "y"}
	uids := []string{"1", "2", "3", "4"}
	rapid.Check(t, func(t *rapid.T) {
		s := podmanager.New()
		m := &model{naming: map[types.UID]int{}}
		draw := func(t *rapid.T) *v1.Pod {
			make := rapid.SampledFrom([]func(uid, name string) *v1.Pod{
				staticPod, mirrorPod, func(uid, name string) *v1.Pod { return newPod(uid, name) },
			}).Draw(t, "kind")
			return make(rapid.SampledFrom(uids).Draw(t, "uid"), rapid.SampledFrom(names).Draw(t, "name"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				p := draw(t)
				s.UpdatePod(p)
				m.putPod(p)
			},
			"remove": func(t *rapid.T) {
				p := draw(t)
				s.RemovePod(p)
				m.removePod(p.UID)
			},
			"set": func(t *rapid.T) {
				pods := []*v1.Pod{draw(t), draw(t)}
				s.SetPods(pods)
				*m = model{naming: map[types.UID]int{}}
				for _, p := range pods {
					m.putPod(p)
				}
			},
			"": func(t *rapid.T) { compareStore(t, s, m, names, uids) },
		})
	})
}

func compareStore(t *rapid.T, s *podmanager.Store, m *model, names, uids []string) {
	var pods, mirrors []*v1.Pod
	var orphans []string
	toMirror := map[podmanager.ResolvedPodUID]podmanager.MirrorPodUID{}
	toPod := map[podmanager.MirrorPodUID]podmanager.ResolvedPodUID{}
	for _, p := range m.pods {
		if !podmanager.IsMirrorPod(p) {
			pods = append(pods, p)
			if _, paired := toMirror[podmanager.ResolvedPodUID(p.UID)]; !paired && podmanager.IsStaticPod(p) {
				toMirror[podmanager.ResolvedPodUID(p.UID)] = ""
			}
			continue
		}
		mirrors = append(mirrors, p)
		if of := m.podNamed(p.Name, false); of != nil {
			toMirror[podmanager.ResolvedPodUID(of.UID)] = podmanager.MirrorPodUID(p.UID)
			toPod[podmanager.MirrorPodUID(p.UID)] = podmanager.ResolvedPodUID(of.UID)
		} else {
			orphans = append(orphans, podmanager.FullName(p))
		}
	}
	gotPods, gotMirrors, gotOrphans := s.GetPodsAndMirrorPods()
	assert.True(t, slices.Equal(pods, gotPods), "pods")
	assert.True(t, slices.Equal(pods, s.GetPods()), "GetPods")
	assert.True(t, slices.Equal(mirrors, gotMirrors), "mirrors")
	assert.Equal(t, orphans, gotOrphans)
	gotToMirror, gotToPod := s.GetUIDTranslations()
	assert.Equal(t, toMirror, gotToMirror)
	assert.Equal(t, toPod, gotToPod)
	for _, name := range names {
		got, _ := s.GetPodByName("ns", name)
		assert.True(t, m.podNamed(name, false) == got, name)
		got, _ = s.GetMirrorPodByPod(newPod("", name))
		assert.True(t, m.podNamed(name, true) == got, name)
	}
	for _, uid := range uids {
		want := podmanager.ResolvedPodUID(uid)
		if to, ok := toPod[podmanager.MirrorPodUID(uid)]; ok {
			want = to
		}
		assert.Equal(t, want, s.TranslatePodUID(types.UID(uid)))
	}
}
