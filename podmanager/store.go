package podmanager

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Store is a Manager in memory. Use New to make one.
type Store struct {
	mu struct {
		sync.RWMutex
		pods    podTable
		mirrors podTable        // at most one per name
		subs    []*subscription // replaced, never changed in place
	}
}

var _ Manager = (*Store)(nil)

// New returns a Store without pods.
func New() *Store {
	s := &Store{}
	s.mu.pods, s.mu.mirrors = newPodTable(), newPodTable()
	return s
}

// AddPod implements Manager.
func (s *Store) AddPod(pod *v1.Pod) { s.UpdatePod(pod) }

// UpdatePod implements Manager.
func (s *Store) UpdatePod(pod *v1.Pod) {
	if pod == nil {
		return
	}
	names, subs := s.storePod(pod)
	notifySubscriptions(subs, names...)
}

// storePod stores a pod or mirror pod. It returns the full names that changed (the old ones of the UID and the
// new one) and the subscriptions to notify.
func (s *Store) storePod(pod *v1.Pod) (fullNames []string, subs []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := append(s.fullNamesLocked(pod.UID), FullName(pod))
	s.storePodLocked(pod)
	return names, s.mu.subs
}

// fullNamesLocked returns the full names (name_namespace) that a UID has in the table of pods and in the table
// of mirror pods.
func (s *Store) fullNamesLocked(uid types.UID) (names []string) {
	for _, t := range [...]*podTable{&s.mu.pods, &s.mu.mirrors} {
		if e := t.byUID[uid]; e != nil {
			names = append(names, e.key.name+"_"+e.key.namespace)
		}
	}
	return names
}

// storePodLocked stores the pod in the table of pods or of mirror pods, and removes its UID from the other
// table. A mirror pod replaces an earlier mirror pod with the same namespace and name.
func (s *Store) storePodLocked(pod *v1.Pod) {
	if !IsMirrorPod(pod) {
		s.mu.mirrors.removePod(pod.UID)
		s.mu.pods.setPod(pod)
		return
	}
	s.mu.pods.removePod(pod.UID)
	if old := s.mu.mirrors.lastArrivedByName(nameKeyOf(pod)); old != nil && old.UID != pod.UID {
		s.mu.mirrors.removePod(old.UID)
	}
	s.mu.mirrors.setPod(pod)
}

// RemovePod implements Manager.
func (s *Store) RemovePod(pod *v1.Pod) {
	if pod == nil {
		return
	}
	names, subs := s.deletePod(pod.UID)
	notifySubscriptions(subs, names...)
}

// deletePod removes a UID from the pods and mirror pods. It returns the full names that it had and the
// subscriptions to notify.
func (s *Store) deletePod(uid types.UID) (fullNames []string, subs []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.fullNamesLocked(uid)
	s.mu.pods.removePod(uid)
	s.mu.mirrors.removePod(uid)
	return names, s.mu.subs
}

// SetPods implements Manager.
func (s *Store) SetPods(pods []*v1.Pod) {
	names, subs := s.replaceAll(pods)
	notifySubscriptions(subs, names...)
}

// replaceAll replaces all pods and mirror pods by a list, and skips nil pods. It returns the full names of all
// old and new pods and the subscriptions to notify.
func (s *Store) replaceAll(pods []*v1.Pod) (names []string, subs []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range slices.Concat(s.mu.pods.podsInOrderOfArrival(), s.mu.mirrors.podsInOrderOfArrival(), pods) {
		if pod != nil {
			names = append(names, FullName(pod))
		}
	}
	s.mu.pods, s.mu.mirrors = newPodTable(), newPodTable()
	for _, pod := range pods {
		if pod != nil {
			s.storePodLocked(pod)
		}
	}
	return names, s.mu.subs
}

// GetPodByFullName implements Manager.
func (s *Store) GetPodByFullName(podFullName string) (*v1.Pod, bool) {
	k, ok := parseFullName(podFullName)
	if !ok {
		return nil, false
	}
	return s.GetPodByName(k.namespace, k.name)
}

// GetPodByName implements Manager.
func (s *Store) GetPodByName(namespace, name string) (*v1.Pod, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	pod := s.mu.pods.lastArrivedByName(nameKey{namespace, name})
	return pod, pod != nil
}

// GetPodByUID implements Manager.
func (s *Store) GetPodByUID(uid types.UID) (*v1.Pod, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.mu.pods.byUID[uid]; e != nil {
		return e.pod, true
	}
	return nil, false
}

// GetPodByMirrorPod implements Manager.
func (s *Store) GetPodByMirrorPod(mirror *v1.Pod) (*v1.Pod, bool) {
	if mirror == nil {
		return nil, false
	}
	return s.GetPodByName(mirror.Namespace, mirror.Name)
}

// GetMirrorPodByPod implements Manager.
func (s *Store) GetMirrorPodByPod(pod *v1.Pod) (*v1.Pod, bool) {
	if pod == nil {
		return nil, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	mirror := s.mu.mirrors.lastArrivedByName(nameKeyOf(pod))
	return mirror, mirror != nil
}

// GetPodAndMirrorPod implements Manager.
func (s *Store) GetPodAndMirrorPod(aPod *v1.Pod) (pod, mirror *v1.Pod, wasMirror bool) {
	if IsMirrorPod(aPod) {
		pod, _ = s.GetPodByMirrorPod(aPod)
		return pod, aPod, true
	}
	mirror, _ = s.GetMirrorPodByPod(aPod)
	return aPod, mirror, false
}

// GetPods implements Manager.
func (s *Store) GetPods() []*v1.Pod {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mu.pods.podsInOrderOfArrival()
}

// GetPodsAndMirrorPods implements Manager.
func (s *Store) GetPodsAndMirrorPods() (pods, mirrors []*v1.Pod, orphanFullNames []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for e := s.mu.mirrors.first; e != nil; e = e.next {
		if s.mu.pods.lastArrivedByName(e.key) == nil {
			orphanFullNames = append(orphanFullNames, FullName(e.pod))
		}
	}
	return s.mu.pods.podsInOrderOfArrival(), s.mu.mirrors.podsInOrderOfArrival(), orphanFullNames
}

// GetStaticPodToMirrorPodMap implements Manager.
func (s *Store) GetStaticPodToMirrorPodMap() map[*v1.Pod]*v1.Pod {
	s.mu.RLock()
	defer s.mu.RUnlock()
	staticToMirror := map[*v1.Pod]*v1.Pod{}
	for e := s.mu.pods.first; e != nil; e = e.next {
		if IsStaticPod(e.pod) {
			staticToMirror[e.pod] = s.mu.mirrors.lastArrivedByName(e.key)
		}
	}
	return staticToMirror
}

// TranslatePodUID implements Manager.
func (s *Store) TranslatePodUID(uid types.UID) ResolvedPodUID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if mirror := s.mu.mirrors.byUID[uid]; mirror != nil {
		if pod := s.mu.pods.lastArrivedByName(mirror.key); pod != nil {
			return ResolvedPodUID(pod.UID)
		}
	}
	return ResolvedPodUID(uid)
}

// GetUIDTranslations implements Manager.
func (s *Store) GetUIDTranslations() (podToMirror map[ResolvedPodUID]MirrorPodUID, mirrorToPod map[MirrorPodUID]ResolvedPodUID) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	podToMirror = map[ResolvedPodUID]MirrorPodUID{}
	mirrorToPod = map[MirrorPodUID]ResolvedPodUID{}
	for uid, e := range s.mu.pods.byUID {
		if IsStaticPod(e.pod) {
			podToMirror[ResolvedPodUID(uid)] = ""
		}
	}
	for uid, mirror := range s.mu.mirrors.byUID {
		if pod := s.mu.pods.lastArrivedByName(mirror.key); pod != nil {
			podToMirror[ResolvedPodUID(pod.UID)] = MirrorPodUID(uid)
			mirrorToPod[MirrorPodUID(uid)] = ResolvedPodUID(pod.UID)
		}
	}
	return podToMirror, mirrorToPod
}
