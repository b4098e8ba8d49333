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

// source is podsync.Objects.
type source interface {
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
}

// Objects asks for each object that is needed. What does not exist is left out,
// as it may be optional; without a source nothing exists. Any other error is
// the end.
func Objects(ctx context.Context, from source, namespace string, needs []environ.Need) (environ.Objects, error) {
	found := environ.Objects{ConfigMaps: map[string]*v1.ConfigMap{}, Secrets: map[string]*v1.Secret{}}
	if from == nil {
		return found, nil
	}
	for _, n := range needs {
		if err := one(ctx, from, namespace, n, &found); err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return environ.Objects{}, fmt.Errorf("%s %s/%s: %w", n.Kind, namespace, n.Name, err)
		}
	}
	return found, nil
}

func one(ctx context.Context, from source, namespace string, n environ.Need, found *environ.Objects) error {
	if n.Kind == environ.ConfigMap {
		m, err := from.ConfigMap(ctx, namespace, n.Name)
		if err == nil && m != nil {
			found.ConfigMaps[n.Name] = m
		}
		return err
	}
	s, err := from.Secret(ctx, namespace, n.Name)
	if err == nil && s != nil {
		found.Secrets[n.Name] = s
	}
	return err
}

// tokens is podsync.Tokens.
type tokens interface {
	Token(ctx context.Context, pod *v1.Pod, audience string, expirationSeconds int64) (string, error)
}

// Tokens asks for each token that is needed, and adds it to what was found. Without a
// source there are none.
func Tokens(ctx context.Context, from tokens, pod *v1.Pod, needs []environ.TokenNeed, found *environ.Objects) error {
	if from == nil || len(needs) == 0 {
		return nil
	}
	found.Tokens = make(map[environ.TokenNeed]string, len(needs))
	for _, n := range needs {
		token, err := from.Token(ctx, pod, n.Audience, n.ExpirationSeconds)
		if err != nil {
			return fmt.Errorf("a token of the service account %q: %w", pod.Spec.ServiceAccountName, err)
		}
		found.Tokens[n] = token
	}
	return nil
}

// claims is podsync.Claims.
type claims interface {
	Source(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (*v1.PersistentVolumeSource, bool, error)
}

// Claim is what is to be known of a volume of a claim, beside its path.
type Claim struct {
	// ReadOnly: it may only be read.
	ReadOnly bool
	// Local: what is in it belongs to the group of spec.securityContext.fsGroup.
	Local bool
}

// Claims returns the pod with paths of the host in the place of its claims, and what these
// are, by the names of their volumes. Without a source, or without claims, it is the pod
// itself.
func Claims(ctx context.Context, from claims, pod *v1.Pod) (bound *v1.Pod, known map[string]Claim, err error) {
	bound = pod
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if from == nil || !volume.Of(v).Claimed() {
			continue
		}
		source, readOnly, err := from.Source(ctx, pod, v)
		if err != nil {
			return nil, nil, fmt.Errorf("volume %q: %w", v.Name, err)
		}
		path, err := hostPath(source)
		if err != nil {
			return nil, nil, fmt.Errorf("volume %q: %w", v.Name, err)
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

// hostPath is where on the host a volume is. The directory of a local one is there before.
func hostPath(source *v1.PersistentVolumeSource) (*v1.HostPathVolumeSource, error) {
	switch {
	case source != nil && source.HostPath != nil:
		return source.HostPath, nil
	case source != nil && source.Local != nil:
		return &v1.HostPathVolumeSource{Path: source.Local.Path, Type: new(v1.HostPathDirectory)}, nil
	}
	return nil, errors.New("the volume of its claim is neither a hostPath nor local")
}
