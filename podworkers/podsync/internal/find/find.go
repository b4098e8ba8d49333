package find

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
	"github.com/podkeel/podkeel/runtime"
)

// objectSource is podsync.Objects.
type objectSource interface {
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
}

// FindObjects returns the objects that the references name. A missing object is left out, because a
// reference may be optional. If source is nil, all objects are missing. Any other error ends the
// search.
func FindObjects(ctx context.Context, source objectSource, namespace string, needs []environ.ObjectRef) (environ.Objects, error) {
	found := environ.Objects{ConfigMaps: map[string]*v1.ConfigMap{}, Secrets: map[string]*v1.Secret{}}
	if source == nil {
		return found, nil
	}
	for _, n := range needs {
		if err := addReferencedObject(ctx, source, namespace, n, &found); err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return environ.Objects{}, fmt.Errorf("%s %s/%s: %w", n.Kind, namespace, n.Name, err)
		}
	}
	return found, nil
}

// addReferencedObject reads the ConfigMap or Secret of a reference from source and adds it to found. It adds
// nothing, and returns the error of the read, if the read fails.
func addReferencedObject(ctx context.Context, source objectSource, namespace string, ref environ.ObjectRef, found *environ.Objects) error {
	if ref.Kind == environ.ConfigMap {
		m, err := source.ConfigMap(ctx, namespace, ref.Name)
		if err == nil && m != nil {
			found.ConfigMaps[ref.Name] = m
		}
		return err
	}
	s, err := source.Secret(ctx, namespace, ref.Name)
	if err == nil && s != nil {
		found.Secrets[ref.Name] = s
	}
	return err
}

// tokenSource is podsync.Tokens.
type tokenSource interface {
	Token(ctx context.Context, pod *v1.Pod, audience string, expirationSeconds int64) (string, error)
}

// FindTokens adds the token of each reference to found. If source is nil it adds none.
func FindTokens(ctx context.Context, source tokenSource, pod *v1.Pod, needs []environ.TokenRef, found *environ.Objects) error {
	if source == nil || len(needs) == 0 {
		return nil
	}
	found.Tokens = make(map[environ.TokenRef]string, len(needs))
	for _, n := range needs {
		token, err := source.Token(ctx, pod, n.Audience, n.ExpirationSeconds)
		if err != nil {
			return fmt.Errorf("a token of the service account %q: %w", pod.Spec.ServiceAccountName, err)
		}
		found.Tokens[n] = token
	}
	return nil
}

// claimSource is podsync.Claims.
type claimSource interface {
	Source(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (*v1.PersistentVolumeSource, bool, error)
}

// Claim describes the volume that is bound to a claim. Its path is in the pod that BindClaims returns.
type Claim struct {
	// ReadOnly: containers may only read the volume.
	ReadOnly bool
	// Local: the volume is a local volume. Its files must belong to the group of
	// spec.securityContext.fsGroup.
	Local bool
}

// BindClaims returns a copy of the pod in which each volume of a claim is a hostPath volume, and the
// claims by volume name. If claims is nil or the pod has no claims, it returns the pod itself.
func BindClaims(ctx context.Context, claims claimSource, pod *v1.Pod) (bound *v1.Pod, known map[string]Claim, err error) {
	bound = pod
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if claims == nil || !volume.KindOf(v).IsClaim() {
			continue
		}
		source, readOnly, err := claims.Source(ctx, pod, v)
		if err != nil {
			return nil, nil, &volume.SetUpError{Volume: v.Name, Err: err}
		}
		path, err := hostPathOfVolumeSource(source)
		if err != nil {
			return nil, nil, &volume.SetUpError{Volume: v.Name, Err: err}
		}
		if bound == pod {
			other := *pod
			other.Spec.Volumes = slices.Clone(pod.Spec.Volumes)
			bound, known = &other, map[string]Claim{}
		}
		bound.Spec.Volumes[i].VolumeSource = v1.VolumeSource{HostPath: path}
		known[v.Name] = Claim{ReadOnly: readOnly, Local: source.Local != nil}
	}
	return bound, known, nil
}

// hostPathOfVolumeSource returns the hostPath volume to use for a PersistentVolume of type hostPath or local.
// The directory of a local volume must exist. Any other type is an error.
func hostPathOfVolumeSource(source *v1.PersistentVolumeSource) (*v1.HostPathVolumeSource, error) {
	switch {
	case source != nil && source.HostPath != nil:
		return source.HostPath, nil
	case source != nil && source.Local != nil:
		return &v1.HostPathVolumeSource{Path: source.Local.Path, Type: new(v1.HostPathDirectory)}, nil
	}
	return nil, errors.New("the volume that is bound to the claim is neither hostPath nor local")
}
