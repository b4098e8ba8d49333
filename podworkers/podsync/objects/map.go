package objects

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
)

// Map has objects in memory: those that a host program, or a test, puts in.
type Map struct {
	mu struct {
		sync.Mutex
		configMaps map[key]*v1.ConfigMap
		secrets    map[key]*v1.Secret
	}
}

type key struct{ namespace, name string }

var _ podsync.Objects = (*Map)(nil)

// NewMap makes a Map that is empty.
func NewMap() *Map {
	m := &Map{}
	m.mu.configMaps, m.mu.secrets = make(map[key]*v1.ConfigMap), make(map[key]*v1.Secret)
	return m
}

// ApplyConfigMap puts a copy in, in the place of one that has its name.
func (m *Map) ApplyConfigMap(o *v1.ConfigMap) {
	o = o.DeepCopy()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.configMaps[key{o.Namespace, o.Name}] = o
}

// ApplySecret puts a copy in, in the place of one that has its name.
func (m *Map) ApplySecret(o *v1.Secret) {
	o = o.DeepCopy()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.secrets[key{o.Namespace, o.Name}] = o
}

// DeleteConfigMap takes one out.
func (m *Map) DeleteConfigMap(namespace, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.configMaps, key{namespace, name})
}

// DeleteSecret takes one out.
func (m *Map) DeleteSecret(namespace, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.secrets, key{namespace, name})
}

// ConfigMap implements podsync.Objects.
func (m *Map) ConfigMap(_ context.Context, namespace, name string) (*v1.ConfigMap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.mu.configMaps[key{namespace, name}]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("objects: ConfigMap %s/%s: %w", namespace, name, runtime.ErrNotFound)
}

// Secret implements podsync.Objects.
func (m *Map) Secret(_ context.Context, namespace, name string) (*v1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.mu.secrets[key{namespace, name}]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("objects: Secret %s/%s: %w", namespace, name, runtime.ErrNotFound)
}
