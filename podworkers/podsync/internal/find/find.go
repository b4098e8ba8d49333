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
	HostPath(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (*v1.HostPathVolumeSource, bool, error)
}

// Claims returns the pod with paths of the host in the place of its claims, and the names
// of those volumes that may only be read. Without a source, or without claims, it is the
// pod itself.
func Claims(ctx context.Context, from claims, pod *v1.Pod) (bound *v1.Pod, readOnly map[string]bool, err error) {
	bound = pod
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if from == nil || !volume.Of(v).Claimed() {
			continue
		}
		path, only, err := from.HostPath(ctx, pod, v)
		if err != nil {
			return nil, nil, fmt.Errorf("volume %q: %w", v.Name, err)
		}
		if bound == pod {
			other := *pod
			other.Spec.Volumes = slices.Clone(pod.Spec.Volumes)
			bound, readOnly = &other, map[string]bool{}
		}
		bound.Spec.Volumes[i].VolumeSource = v1.VolumeSource{HostPath: path}
		readOnly[v.Name] = only
	}
	return bound, readOnly, nil
}
