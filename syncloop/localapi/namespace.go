package localapi

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// addNamespace adds a Namespace object unless it exists.
func (s *podStore) addNamespace(name string) {
	if s.namespaces.shownObjectOrNil("", name) != nil {
		return
	}
	ns := withKind(&v1.Namespace{}, "Namespace")
	ns.Name, ns.UID, ns.CreationTimestamp = name, types.UID(name), metav1.NewTime(s.started)
	ns.Labels = map[string]string{v1.LabelMetadataName: name}
	ns.Status.Phase = v1.NamespaceActive
	s.namespaces.putIfChanged(ns)
}

// removeEmptyNamespaceLocked removes a Namespace object if no pod is in it. The namespaces default and
// kube-node-lease always stay.
func (s *podStore) removeEmptyNamespaceLocked(name string) {
	pods, _ := s.pods.shownObjectsAndVersion()
	for _, o := range pods {
		if o.GetNamespace() == name {
			return
		}
	}
	if name != metav1.NamespaceDefault && name != v1.NamespaceNodeLease {
		s.namespaces.removeAndWakeWatchers(types.UID(name))
	}
}
