package objects

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
)

// ClaimsConfig is what Claims are made of. Server and NodeName are required.
type ClaimsConfig struct {
	// Server is the API server, as the node.
	Server apiserver.Server
	// NodeName is the name of the node.
	NodeName string
	// Contact learns from every call. It may be nil.
	Contact *contact.Contact
}

// Claims finds the volumes of claims. It implements podsync.Claims. Make one with New. Its
// methods are safe for concurrent use.
type Claims struct {
	cfg ClaimsConfig
	mu  struct {
		sync.Mutex
		bound map[types.UID]map[string]bound
	}
}

// bound is what a volume of a pod is.
type bound struct {
	source   v1.PersistentVolumeSource
	readOnly bool
	volume   string // the persistent one
	alone    bool   // no other pod may have it
	pod      string
}

// NewClaims returns Claims that have asked for nothing. Its error says what is wrong with the
// configuration.
func NewClaims(cfg ClaimsConfig) (*Claims, error) {
	if cfg.Server == nil || cfg.NodeName == "" {
		return nil, errors.New("objects: ClaimsConfig.Server and ClaimsConfig.NodeName are required")
	}
	if cfg.Contact == nil {
		cfg.Contact = contact.New(contact.Config{})
	}
	s := &Claims{cfg: cfg}
	s.mu.bound = map[types.UID]map[string]bound{}
	return s, nil
}

// Source returns what a volume of a pod is, of the kind persistentVolumeClaim or ephemeral:
// hostPath or local, and whether it may only be read. What it returns is only read. It asks the server until it has found that out,
// and then returns the same for the pod until Forget is called. It is called in each sync of a
// pod. Its error says why the volume cannot be had. It ends with ctx.
func (s *Claims) Source(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (source *v1.PersistentVolumeSource, readOnly bool, err error) {
	s.mu.Lock()
	b, known := s.mu.bound[pod.UID][volume.Name]
	s.mu.Unlock()
	if !known {
		if b, err = s.find(ctx, pod, volume); err != nil {
			return nil, false, fmt.Errorf("objects: %w", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if holder := s.holder(pod.UID, b); holder != "" {
			return nil, false, fmt.Errorf("objects: the persistent volume %s has the access mode ReadWriteOncePod, and is in use by the pod %s", b.volume, holder)
		}
		if s.mu.bound[pod.UID] == nil {
			s.mu.bound[pod.UID] = map[string]bound{}
		}
		s.mu.bound[pod.UID][volume.Name] = b
	}
	return &b.source, b.readOnly, nil
}

// holder is another pod that has a volume which one pod alone may have; empty: none. The caller
// has the lock.
func (s *Claims) holder(uid types.UID, b bound) (pod string) {
	for other, volumes := range s.mu.bound {
		for _, o := range volumes {
			if other != uid && b.alone && o.volume == b.volume {
				return o.pod
			}
		}
	}
	return ""
}

// Forget drops what is known of the volumes of a pod. It is called when the pod is gone.
func (s *Claims) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.bound, uid)
}

// find asks for the claim, for its volume and, if need be, for the node.
func (s *Claims) find(ctx context.Context, pod *v1.Pod, v *v1.Volume) (b bound, err error) {
	name := pod.Name + "-" + v.Name
	if v.PersistentVolumeClaim != nil {
		name, b.readOnly = v.PersistentVolumeClaim.ClaimName, v.PersistentVolumeClaim.ReadOnly
	}
	claim, err := asked(s, func() (*v1.PersistentVolumeClaim, error) {
		return s.cfg.Server.Claims().GetClaim(ctx, pod.Namespace, name)
	})
	if err != nil {
		return b, fmt.Errorf("the claim %s/%s: %w", pod.Namespace, name, err)
	}
	if why := unusable(pod, v, claim); why != "" {
		return b, fmt.Errorf("the claim %s/%s %s", pod.Namespace, name, why)
	}
	volume, err := asked(s, func() (*v1.PersistentVolume, error) {
		return s.cfg.Server.Claims().GetVolume(ctx, claim.Spec.VolumeName)
	})
	if err == nil {
		b.volume, b.pod, b.alone = volume.Name, pod.Namespace+"/"+pod.Name, slices.Contains(volume.Spec.AccessModes, v1.ReadWriteOncePod)
		b.source = volume.Spec.PersistentVolumeSource
		err = unhad(claim, volume)
	}
	if err == nil && volume.Spec.NodeAffinity != nil {
		err = s.here(ctx, volume.Spec.NodeAffinity.Required)
	}
	if err != nil {
		return b, fmt.Errorf("the persistent volume %s: %w", claim.Spec.VolumeName, err)
	}
	return b, nil
}

// asked reports the answer to a call.
func asked[T any](s *Claims, call func() (T, error)) (T, error) {
	answer, err := call()
	s.cfg.Contact.Report(err)
	return answer, err
}

// unusable is why a pod cannot use a claim now; empty if it can.
func unusable(pod *v1.Pod, v *v1.Volume, claim *v1.PersistentVolumeClaim) string {
	switch {
	case v.Ephemeral != nil && !metav1.IsControlledBy(claim, pod):
		return "was not made for the pod"
	case claim.DeletionTimestamp != nil && (pod.Status.Phase == v1.PodPending || pod.Status.Phase == ""):
		return "is being deleted"
	case claim.Status.Phase != v1.ClaimBound || claim.Spec.VolumeName == "":
		return fmt.Sprintf("is not bound to a volume: its phase is %q", claim.Status.Phase)
	case claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode != v1.PersistentVolumeFilesystem:
		return fmt.Sprintf("is for a volume of the mode %s, which cannot be mounted", *claim.Spec.VolumeMode)
	}
	return ""
}

// unhad says why the volume of a claim cannot be had on a node; nil if it can.
func unhad(claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) error {
	var at string
	switch source := &volume.Spec.PersistentVolumeSource; {
	case volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID != claim.UID:
		return errors.New("it is bound to another claim")
	case source.HostPath != nil:
		at = source.HostPath.Path
	case source.Local != nil:
		at = source.Local.Path
	default:
		return fmt.Errorf("it is of the kind %s, which cannot be had here", kind(source))
	}
	if !path.IsAbs(at) {
		return fmt.Errorf("its path %q is not absolute", at)
	}
	return nil
}

// kind is what a volume is made of, by the name of its field.
func kind(source *v1.PersistentVolumeSource) string {
	v := reflect.ValueOf(*source)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return `""`
}

// here returns an error unless a selector selects this node.
func (s *Claims) here(ctx context.Context, selector *v1.NodeSelector) error {
	if selector == nil {
		return nil
	}
	node, err := asked(s, func() (*v1.Node, error) { return s.cfg.Server.Nodes().Get(ctx, s.cfg.NodeName) })
	if err != nil {
		return fmt.Errorf("the node %s: %w", s.cfg.NodeName, err)
	}
	ok, err := podspec.Node{Name: node.Name, Labels: node.Labels}.Matches(selector.NodeSelectorTerms)
	switch {
	case ok:
		return nil
	case err != nil:
		return fmt.Errorf("its node affinity cannot be understood: %w", err)
	}
	return fmt.Errorf("its node affinity does not select the node %s", s.cfg.NodeName)
}
