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

// ClaimsConfig configures Claims. Server and NodeName are required.
type ClaimsConfig struct {
	// Server is the API server with the node's credentials.
	Server apiserver.Server
	// NodeName is the name of the node.
	NodeName string
	// Contact records the result of every call. It may be nil.
	Contact *contact.Contact
}

// Claims looks up the persistent volumes of claims. It implements podsync.Claims. Make one with NewClaims. Its methods
// are safe for concurrent use.
type Claims struct {
	cfg ClaimsConfig
	mu  struct {
		sync.Mutex
		bound map[types.UID]map[string]boundVolume
	}
}

// boundVolume is the persistent volume behind a volume of a pod.
type boundVolume struct {
	source    v1.PersistentVolumeSource
	readOnly  bool
	volume    string // name of the persistent volume
	exclusive bool   // access mode ReadWriteOncePod
	pod       string
}

// NewClaims returns Claims that have read nothing. The error names a fault of the configuration.
func NewClaims(cfg ClaimsConfig) (*Claims, error) {
	if cfg.Server == nil || cfg.NodeName == "" {
		return nil, errors.New("objects: ClaimsConfig.Server and ClaimsConfig.NodeName are required")
	}
	if cfg.Contact == nil {
		cfg.Contact = contact.New(contact.Config{})
	}
	s := &Claims{cfg: cfg}
	s.mu.bound = map[types.UID]map[string]boundVolume{}
	return s, nil
}

// Source returns the source of a pod volume of kind persistentVolumeClaim or ephemeral: hostPath or local, and whether
// it is read-only. The caller must not change it. Each sync of a pod calls it. After a success it returns the same
// source for the pod until Forget; after an error it reads the server again. The error says why the pod cannot use the
// volume. Source returns when ctx is done.
func (s *Claims) Source(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (source *v1.PersistentVolumeSource, readOnly bool, err error) {
	s.mu.Lock()
	b, known := s.mu.bound[pod.UID][volume.Name]
	s.mu.Unlock()
	if !known {
		if b, err = s.readAndCheckVolume(ctx, pod, volume); err != nil {
			return nil, false, fmt.Errorf("objects: %w", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if holder := s.otherExclusiveUserLocked(pod.UID, b); holder != "" {
			return nil, false, fmt.Errorf("objects: the persistent volume %s has the access mode ReadWriteOncePod, and is in use by the pod %s", b.volume, holder)
		}
		if s.mu.bound[pod.UID] == nil {
			s.mu.bound[pod.UID] = map[string]boundVolume{}
		}
		s.mu.bound[pod.UID][volume.Name] = b
	}
	return &b.source, b.readOnly, nil
}

// otherExclusiveUserLocked returns the name of another pod that uses the volume, if the volume has the access
// mode ReadWriteOncePod. It returns an empty string if there is none, or for another access mode.
func (s *Claims) otherExclusiveUserLocked(uid types.UID, b boundVolume) (pod string) {
	for other, volumes := range s.mu.bound {
		for _, o := range volumes {
			if other != uid && b.exclusive && o.volume == b.volume {
				return o.pod
			}
		}
	}
	return ""
}

// Forget removes the known volumes of a pod. Call it when the pod is gone.
func (s *Claims) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.bound, uid)
}

// readAndCheckVolume reads from the server the claim of a pod volume and the persistent volume of that claim.
// It returns an error if the pod cannot use them. If the persistent volume has a node affinity, it also reads
// the Node and compares its labels.
func (s *Claims) readAndCheckVolume(ctx context.Context, pod *v1.Pod, v *v1.Volume) (b boundVolume, err error) {
	name := pod.Name + "-" + v.Name
	if v.PersistentVolumeClaim != nil {
		name, b.readOnly = v.PersistentVolumeClaim.ClaimName, v.PersistentVolumeClaim.ReadOnly
	}
	claim, err := callAndReportContact(s, func() (*v1.PersistentVolumeClaim, error) {
		return s.cfg.Server.Claims().GetClaim(ctx, pod.Namespace, name)
	})
	if err != nil {
		return b, fmt.Errorf("the claim %s/%s: %w", pod.Namespace, name, err)
	}
	if why := claimProblem(pod, v, claim); why != "" {
		return b, fmt.Errorf("the claim %s/%s %s", pod.Namespace, name, why)
	}
	volume, err := callAndReportContact(s, func() (*v1.PersistentVolume, error) {
		return s.cfg.Server.Claims().GetVolume(ctx, claim.Spec.VolumeName)
	})
	if err == nil {
		b.volume, b.pod, b.exclusive = volume.Name, pod.Namespace+"/"+pod.Name, slices.Contains(volume.Spec.AccessModes, v1.ReadWriteOncePod)
		b.source = volume.Spec.PersistentVolumeSource
		err = checkVolumeBoundWithAbsoluteHostPath(claim, volume)
	}
	if err == nil && volume.Spec.NodeAffinity != nil {
		err = s.checkNodeAffinity(ctx, volume.Spec.NodeAffinity.Required)
	}
	if err != nil {
		return b, fmt.Errorf("the persistent volume %s: %w", claim.Spec.VolumeName, err)
	}
	return b, nil
}

// callAndReportContact calls the API server and returns the result. It also reports the result to the Contact,
// which tracks whether the server answers.
func callAndReportContact[T any](s *Claims, call func() (T, error)) (T, error) {
	answer, err := call()
	s.cfg.Contact.Report(err)
	return answer, err
}

// claimProblem returns why a pod cannot use a PersistentVolumeClaim now, or an empty string. A claim that is
// being deleted is only a problem for a pod that is still pending.
func claimProblem(pod *v1.Pod, v *v1.Volume, claim *v1.PersistentVolumeClaim) string {
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

// checkVolumeBoundWithAbsoluteHostPath returns an error if the persistent volume is not bound to the claim, if
// it is neither hostPath nor local, or if its path is not absolute.
func checkVolumeBoundWithAbsoluteHostPath(claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) error {
	var at string
	switch source := &volume.Spec.PersistentVolumeSource; {
	case volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID != claim.UID:
		return errors.New("it is bound to another claim")
	case source.HostPath != nil:
		at = source.HostPath.Path
	case source.Local != nil:
		at = source.Local.Path
	default:
		return fmt.Errorf("its kind %s is not supported", volumeSourceKind(source))
	}
	if !path.IsAbs(at) {
		return fmt.Errorf("its path %q is not absolute", at)
	}
	return nil
}

// volumeSourceKind returns the JSON name of the field that is set in a volume source, such as nfs. If no field
// is set, it returns a text of two quotation marks.
func volumeSourceKind(source *v1.PersistentVolumeSource) string {
	v := reflect.ValueOf(*source)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return `""`
}

// checkNodeAffinity reads this node from the server and returns an error unless the selector matches its
// labels. A nil selector matches every node.
func (s *Claims) checkNodeAffinity(ctx context.Context, selector *v1.NodeSelector) error {
	if selector == nil {
		return nil
	}
	node, err := callAndReportContact(s, func() (*v1.Node, error) { return s.cfg.Server.Nodes().Get(ctx, s.cfg.NodeName) })
	if err != nil {
		return fmt.Errorf("the node %s: %w", s.cfg.NodeName, err)
	}
	ok, err := podspec.Node{Name: node.Name, Labels: node.Labels}.Matches(selector.NodeSelectorTerms)
	switch {
	case ok:
		return nil
	case err != nil:
		return fmt.Errorf("its node affinity is malformed: %w", err)
	}
	return fmt.Errorf("its node affinity does not select the node %s", s.cfg.NodeName)
}
