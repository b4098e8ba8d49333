package objects_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/proportion"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

// TestNamed: each object that a pod names is there once, in the order in which they are named.
func TestNamed(t *testing.T) {
	assert.Equal(t, []string{"ConfigMap 0", "ConfigMap 1", "ConfigMap 2"}, objects.ReferenceNames(naming(3)))
}

// TestNamed_Proportion: a pod that names very many objects costs no more than its size.
func TestNamed_Proportion(t *testing.T) {
	const few, times = 500, 40
	small, large := naming(few), naming(times*few)
	proportion.Check(t, func() { objects.ReferenceNames(small) }, func() { objects.ReferenceNames(large) }, times)
}

// naming is a pod that names so many ConfigMaps, each twice.
func naming(count int) *v1.Pod {
	from := make([]v1.EnvFromSource, 2*count)
	for i := range from {
		from[i].ConfigMapRef = &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: fmt.Sprint(i / 2)}}
	}
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{EnvFrom: from}}}}
}
