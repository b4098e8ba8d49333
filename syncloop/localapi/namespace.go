package localapi

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// putNamespace shows a namespace. It is there as long as a pod is in it.
func (s *podStore) putNamespace(name string) {
	if s.namespaces.get("", name) != nil {
		return
	}
	ns := kinded(&v1.Namespace{}, "Namespace")
	ns.Name, ns.UID, ns.CreationTimestamp = name, types.UID(name), metav1.NewTime(s.started)
	ns.Labels = map[string]string{v1.LabelMetadataName: name}
	ns.Status.Phase = v1.NamespaceActive
	s.namespaces.put(ns)
}

// dropNamespaceLocked removes a namespace without pods, but not those that a cluster always has.
func (s *podStore) dropNamespaceLocked(name string) {
	pods, _ := s.pods.list()
	for _, o := range pods {
		if o.GetNamespace() == name {
			return
		}
	}
	if name != metav1.NamespaceDefault && name != v1.NamespaceNodeLease {
		s.namespaces.remove(types.UID(name))
	}
}
