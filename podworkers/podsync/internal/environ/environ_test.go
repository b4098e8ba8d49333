package environ_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/runtime"
)

func resolve(c *v1.Container) (environ.Environment, error) {
	env, _, err := environ.Resolve(environ.Input{Pod: &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{*c}}}, Container: c})
	return env, err
}

// Forty variables, each twice the one before, are a terabyte.
func TestResolve_F14_Doubling(t *testing.T) {
	c := &v1.Container{Name: "c", Env: []v1.EnvVar{{Name: "V0", Value: "xxxxxxxxxx"}}}
	for i := range 40 {
		c.Env = append(c.Env, v1.EnvVar{Name: fmt.Sprintf("V%d", i+1), Value: fmt.Sprintf("$(V%d)$(V%d)", i, i)})
	}
	_, err := resolve(c)
	assert.ErrorIs(t, err, environ.ErrTooLarge)
	assert.EqualError(t, err, "container c: variable V16: larger than 1048576 bytes")
}

func TestResolve_F14_Bounds(t *testing.T) {
	fits := &v1.Container{Name: "c", Env: []v1.EnvVar{{Name: "A", Value: strings.Repeat("x", environ.MaxBytes-3)}}}
	_, err := resolve(fits)
	require.NoError(t, err)
	fits.Env = append(fits.Env, v1.EnvVar{Name: "B"})
	_, err = resolve(fits)
	assert.EqualError(t, err, "container c: variable B: the environment is larger than 1048576 bytes")

	again := &v1.Container{Name: "c", Env: []v1.EnvVar{{Name: "A", Value: strings.Repeat("x", environ.MaxBytes/2)}, {Name: "A", Value: "$(A)"}}}
	_, err = resolve(again)
	assert.ErrorIs(t, err, environ.ErrTooLarge, "replaced values count too")

	long := &v1.Container{Name: "c", Command: []string{strings.Repeat("x", environ.MaxBytes)}, Args: []string{"y"}}
	_, err = resolve(long)
	assert.EqualError(t, err, "container c: args[0]: larger than 1048576 bytes", "one bound for both")
	assert.Equal(t, []string{"$(A)"}, environ.ExpandStatic([]string{"$(A)"}, []v1.EnvVar{{Name: "A", Value: strings.Repeat("x", environ.MaxBytes+1)}}))
}

// 100,000 variables take no longer than they must.
func TestResolve_F14_Many(t *testing.T) {
	c := &v1.Container{Name: "c"}
	for i := range 80_000 {
		c.Env = append(c.Env, v1.EnvVar{Name: fmt.Sprintf("V%d", i), Value: "$(V0)"})
	}
	env, err := resolve(c)
	require.NoError(t, err)
	assert.Len(t, env.Vars(), 80_000)
	assert.Equal(t, runtime.EnvVar{Name: "V79999", Value: "$(V0)"}, env.Vars()[79_999])
}

func TestResolve_Missing(t *testing.T) {
	_, err := resolve(&v1.Container{Name: "c", EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "s"}}}}})
	assert.ErrorIs(t, err, runtime.ErrNotFound)
}

// A secret that was written by hand may have its values as text.
func TestResolve_StringData(t *testing.T) {
	c := &v1.Container{Name: "c", EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "s"}}}}}
	env, _, err := environ.Resolve(environ.Input{Pod: &v1.Pod{}, Container: c, Objects: environ.Objects{Secrets: map[string]*v1.Secret{
		"s": {Data: map[string][]byte{"A": []byte("1"), "B": []byte("2")}, StringData: map[string]string{"B": "3", "C": "4"}},
	}}})
	require.NoError(t, err)
	assert.Equal(t, []runtime.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "3"}, {Name: "C", Value: "4"}}, env.Vars())
}

func TestResource_Extremes(t *testing.T) {
	tell := func(amount, divisor resource.Quantity) string {
		c := v1.Container{Name: "c", Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: amount}}}
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{c}}}
		out, err := environ.ResourceField(pod, "c", &v1.ResourceFieldSelector{Resource: "limits.cpu", Divisor: divisor}, nil)
		require.NoError(t, err)
		return out
	}
	most := *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)
	assert.Equal(t, "9223372036854775807", tell(most, resource.MustParse("1")))
	assert.Equal(t, "1", tell(most, most))
	assert.Equal(t, "0", tell(resource.MustParse("-1"), resource.MustParse("1")))
	assert.Equal(t, "2", tell(resource.MustParse("1001m"), resource.MustParse("1")))
}

// The pod's own limit goes before the node's capacity.
func TestResource_PodLevel(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		Containers: []v1.Container{{Name: "c"}},
		Resources:  &v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}},
	}}
	out, err := environ.ResourceField(pod, "c", &v1.ResourceFieldSelector{Resource: "limits.cpu"}, v1.ResourceList{v1.ResourceCPU: resource.MustParse("8")})
	require.NoError(t, err)
	assert.Equal(t, "2", out)
}

// For every input: expansion terminates and keeps its bound, each variable occurs once, and a text
// without a dollar does not change.
func TestResolve_Properties(t *testing.T) {
	name := rapid.SampledFrom([]string{"A", "B", "C", "D"})
	piece := rapid.OneOf(rapid.SampledFrom([]string{"$", "$$", "(", ")", "$(", "x", "$(A)", "$(B)", "$(C)", "$(D)", "$(E)"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		c := &v1.Container{Name: "c"}
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			c.Env = append(c.Env, v1.EnvVar{Name: name.Draw(t, "name"), Value: strings.Join(rapid.SliceOf(piece).Draw(t, "value"), "")})
		}
		env, err := resolve(c)
		if err != nil {
			return
		}
		size, seen := 0, map[string]bool{}
		for _, v := range env.Vars() {
			if seen[v.Name] {
				t.Fatalf("%s twice", v.Name)
			}
			seen[v.Name] = true
			size += len(v.Name) + len(v.Value) + 2
		}
		if size > environ.MaxBytes {
			t.Fatal(size)
		}
		text := rapid.StringMatching(`[^$]*`).Draw(t, "plain")
		if out, err := env.Expand(text); err != nil || out != text {
			t.Fatalf("%q became %q, %v", text, out, err)
		}
	})
}
