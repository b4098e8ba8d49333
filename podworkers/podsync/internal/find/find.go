package find

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
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
