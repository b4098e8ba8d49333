package objects

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
)

// Map has objects in memory. A host program or a test adds them.
type Map struct {
	mu struct {
		sync.Mutex
		configMaps map[objectKey]*v1.ConfigMap
		secrets    map[objectKey]*v1.Secret
	}
}

type objectKey struct{ namespace, name string }

var _ podsync.Objects = (*Map)(nil)

// NewMap returns an empty Map.
func NewMap() *Map {
	m := &Map{}
	m.mu.configMaps, m.mu.secrets = make(map[objectKey]*v1.ConfigMap), make(map[objectKey]*v1.Secret)
	return m
}

// ApplyConfigMap stores a copy. It replaces an object of the same name.
func (m *Map) ApplyConfigMap(o *v1.ConfigMap) {
	o = o.DeepCopy()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.configMaps[objectKey{o.Namespace, o.Name}] = o
}

// ApplySecret stores a copy. It replaces an object of the same name.
func (m *Map) ApplySecret(o *v1.Secret) {
	o = o.DeepCopy()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.secrets[objectKey{o.Namespace, o.Name}] = o
}

// DeleteConfigMap deletes a ConfigMap.
func (m *Map) DeleteConfigMap(namespace, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.configMaps, objectKey{namespace, name})
}

// DeleteSecret deletes a Secret.
func (m *Map) DeleteSecret(namespace, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.secrets, objectKey{namespace, name})
}

// ConfigMap implements podsync.Objects.
func (m *Map) ConfigMap(_ context.Context, namespace, name string) (*v1.ConfigMap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.mu.configMaps[objectKey{namespace, name}]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("objects: ConfigMap %s/%s: %w", namespace, name, runtime.ErrNotFound)
}

// Secret implements podsync.Objects.
func (m *Map) Secret(_ context.Context, namespace, name string) (*v1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.mu.secrets[objectKey{namespace, name}]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("objects: Secret %s/%s: %w", namespace, name, runtime.ErrNotFound)
}
