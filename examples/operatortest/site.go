package operatortest

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of Site.
var GroupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// Site is a custom resource: a number of pods of one template.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SiteSpec   `json:"spec"`
	Status            SiteStatus `json:"status,omitempty"`
}

// SiteSpec is the desired state of a Site.
type SiteSpec struct {
	Replicas int                `json:"replicas"`
	Template v1.PodTemplateSpec `json:"template"`
}

// SiteStatus is the observed state of a Site.
type SiteStatus struct {
	// Ready, Starting and Terminating are the numbers of pods in these states. Replaced is the number of pods that have
	// failed and were replaced.
	Ready       int `json:"ready"`
	Starting    int `json:"starting"`
	Terminating int `json:"terminating"`
	Replaced    int `json:"replaced"`
	// Problem is the reason for which a pod is not ready, such as CrashLoopBackOff. Empty: none is known.
	Problem string `json:"problem,omitempty"`
}

// SiteList is a list of sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (s *Site) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	s.Spec.Template.DeepCopyInto(&out.Spec.Template)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *SiteList) DeepCopyObject() runtime.Object {
	out := &SiteList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Site))
	}
	return out
}

// AddToScheme adds Site, the types of pods and evictions to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return errors.Join(v1.AddToScheme(scheme), policyv1.AddToScheme(scheme))
}
