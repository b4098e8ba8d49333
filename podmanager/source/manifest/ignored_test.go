package manifest_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

const oddPod = `apiVersion: v1
kind: Pod
metadata:
  name: odd
  name: konnectivity-server
  clusterName: here
spec:
  containers:
  - name: c
    image: i
    image: j
    ports: [{containerPort: 80, hostname: x}]
  restartPolicies: Never
status: {phase: Gone, weight: 5}
`

// TestScan_F7_IgnoredFields: unknown and duplicate fields are ignored as in the kubelet. One problem of the file names
// each with its line, as long as the file has them. The last of duplicate fields is used.
func TestScan_F7_IgnoredFields(t *testing.T) {
	d := newDir(t)
	d.write("a", oddPod)
	assert.Equal(t, "konnectivity-server-n1 [a:5 ignored]", d.scan())
	assert.Equal(t, strings.ReplaceAll(`DIR: line 5: duplicate field "name" (first on line 4), ignored but for the last
DIR: line 6: metadata.clusterName: unknown field, ignored
DIR: line 11: duplicate field "image" (first on line 10), ignored but for the last
DIR: line 12: spec.containers[0].ports[0].hostname: unknown field, ignored
DIR: line 13: spec.restartPolicies: unknown field, ignored
DIR: line 14: status.weight: unknown field, ignored`, "DIR", d.file("a")), d.problems[0].String())
	s, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	assert.False(t, s.Incomplete)
	assert.Equal(t, "j Always", s.Pods[0].Spec.Containers[0].Image+" "+string(s.Pods[0].Spec.RestartPolicy))
	assert.Empty(t, d.problems[1:], "told once")
	fault, found := d.source.FaultOf(s.Pods[0].UID)
	assert.True(t, found)
	assert.Equal(t, `line 5: duplicate field "name" (first on line 4), ignored but for the last (and 5 more); its pods run without them`, fault.Reason+"; "+fault.Effect)

	d.write("a", "kind: [")
	assert.Equal(t, "konnectivity-server-n1 [a:1 syntax kept]", d.scan())
	assert.Equal(t, 2, d.source.Faults().Count, "the last good version, which runs, ignores fields")
	d.write("a", podYAML("konnectivity-server", "j"))
	assert.Equal(t, "konnectivity-server-n1", d.scan())
	assert.Zero(t, d.source.Faults().Count)
	d.write("a", oddPod)
	d.scan()
	d.remove("a")
	assert.Equal(t, "", d.scan())
	assert.Zero(t, d.source.Faults().Count)
}

// TestScan_F7_Strict: a strict source, and Decode, reject fields that another source ignores.
func TestScan_F7_Strict(t *testing.T) {
	d := newDir(t)
	d.open(manifest.Config{Path: d.path, Strict: true})
	d.write("a", podYAML("a", "i")+"extra: 1\n")
	d.write("b", podYAML("b", "i")+"kind: Pod\n")
	assert.Equal(t, "incomplete [a:5 invalid] [b:5 syntax]", d.scan())
	_, err := manifest.Decode([]byte(podYAML("a", "i") + "extra: 1\n"))
	assert.EqualError(t, err, "line 5: extra: unknown field")
	_, err = manifest.Decode([]byte(podYAML("a", "i") + "kind: Pod\n"))
	assert.EqualError(t, err, "line 5: duplicate field \"kind\" (first on line 2)")
}

// TestScan_F7_FieldsOfNewerVersions: a field of a newer version of the API is a fault, because it may restrict the pod.
// A null value is no fault.
func TestScan_F7_FieldsOfNewerVersions(t *testing.T) {
	ofNull := "a-n1 [a:8 ignored]"
	if _, has := reflect.TypeFor[v1.VolumeMount]().FieldByName("BindMountOptions"); has { // With k8s.io/api 0.37.
		ofNull = "a-n1"
	}
	for line, want := range map[string]string{
		"volumeMounts: [{name: v, mountPath: /v, bindMountOptions: [noexec]}]": "incomplete [a:8 invalid]",
		"volumeMounts: [{name: v, mountPath: /v, bindMountOptions: null}]":     ofNull,
		"volumeMounts: [{name: v, mountPath: /v, bindMountOption: [noexec]}]":  "a-n1 [a:8 ignored]",
	} {
		d := newDir(t)
		d.write("a", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    image: i\n    "+line+"\n  volumes: [{name: v, emptyDir: {}}]\n")
		assert.Equal(t, want, d.scan(), line)
		if strings.Contains(want, "invalid") {
			assert.Equal(t, d.file("a")+": line 8: spec.containers[0].volumeMounts[0].bindMountOptions: a field of Kubernetes 1.37 that this version does not have, so the pod is refused", d.problems[0].String())
		}
	}
}

// TestScan_F7_ManyIgnoredFields: if many fields are ignored, all pods of the file run, and a fault is still found.
func TestScan_F7_ManyIgnoredFields(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\nspec: {containers: [{name: c, image: i}]}\n", i)
		for j := range 20 {
			fmt.Fprintf(&text, "unknown%d: 1\n", j)
		}
	}
	d := newDir(t)
	d.write("a", text.String())
	s, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	assert.Len(t, s.Pods, 300)
	assert.Less(t, len(d.problems[0].String()), 10_000, "a bounded text")
	d.write("a", text.String()+"---\nkind: Job\n")
	s, err = d.source.Scan(t.Context())
	require.NoError(t, err)
	assert.Len(t, s.Pods, 300, "the last good version")
	assert.Equal(t, "line 7502: apiVersion: missing: expected v1", d.problems[1].Err.(manifest.Faults)[0].String())
}
