//go:build linux

package clusterlab_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/internal/e2e"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// onContainerd is a node whose containers are real: the program examples/cluster.
type onContainerd struct {
	*joint
	machine   *cri.Runtime
	root      string
	manifests string
	start     func()
	kill      func()
	second    func() (string, error) // runs the program beside, and returns what it prints
	log       string
}

// joinContainerd joins a control plane with the program, on a containerd of its own.
func joinContainerd(t *testing.T, version e2e.Version) *onContainerd {
	control := startLab(t, clusterlab.Config{Nodes: []string{"n1"}, Scheduler: true, Controllers: []string{"*"}})
	containerd := e2e.Start(t, version)
	dir := containerd.Dir
	o := &onContainerd{
		joint: &joint{T: t, lab: control, kubectl: newKubectl(t, control), images: [2]string{containerd.Registry.Image(), containerd.Registry.NextImage()}},
		root:  filepath.Join(dir, "node"), manifests: filepath.Join(dir, "manifests"),
	}
	program := filepath.Join(dir, "cluster")
	build := exec.Command("go", "build", "-o", program, "./examples/cluster")
	build.Dir = "../.."
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Mkdir(o.manifests, 0o755))
	kubeconfig, err := control.Kubeconfig("n1")
	require.NoError(t, err)
	o.admin, err = control.Admin()
	require.NoError(t, err)
	o.seen, err = client.New(control.Rest("n1"), "n1")
	require.NoError(t, err)
	t.Cleanup(o.seen.Reconnect)
	args := []string{"--kubeconfig", kubeconfig, "--hostname-override", "n1", "--runtime", "cri",
		"--container-runtime-endpoint", containerd.Endpoint, "--root-dir", o.root,
		"--log-dir", filepath.Join(o.root, "log", "pods"), "--log-links", filepath.Join(o.root, "log", "containers"), "--pod-manifest-path", o.manifests,
		"--address", "127.0.0.1", "--port", freePort(t), "--client-ca-file", control.ClientCA(),
		"--eviction-hard", ""} // A full disk of the host fails no test.
	o.start = func() {
		o.kill, o.log, err = control.Run(program, args...)
		require.NoError(t, err)
	}
	o.second = func() (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), joinLimit)
		defer cancel()
		out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
		return string(out), err
	}
	o.start()
	t.Cleanup(func() {
		o.kill()
		if t.Failed() {
			text, _ := os.ReadFile(o.log)
			t.Logf("the end of the log of the node:\n%s", text[max(0, len(text)-8000):])
		}
	})
	o.kubectl("wait", "--for=create", "node/n1", "--timeout=30s")
	owner, err := cri.OwnerFile(o.root)
	require.NoError(t, err)
	o.machine, err = cri.New(cri.Config{Endpoint: containerd.Endpoint, Owner: owner})
	require.NoError(t, err)
	o.runtime = o.machine
	return o
}

// withTest returns a copy of the node that reports to a subtest.
func (o *onContainerd) withTest(t *testing.T) *onContainerd {
	sub, j := *o, *o.joint
	j.T, j.kubectl = t, newKubectl(t, o.lab)
	sub.joint = &j
	return &sub
}

// runningContainers returns the IDs of the running containers by pod and name.
func (o *onContainerd) runningContainers() map[string]string {
	o.Helper()
	pods, err := o.machine.ListPods(o.Context())
	require.NoError(o, err)
	all := map[string]string{}
	for _, p := range pods {
		for _, c := range p.Containers {
			if c.State == runtime.StateRunning {
				all[p.Name+"/"+c.Name] = c.ID
			}
		}
	}
	return all
}

// runScript runs a script in a container.
func (o *onContainerd) runScript(pod, script string) string {
	o.Helper()
	ctx, cancel := context.WithTimeout(o.Context(), 20*time.Second)
	defer cancel()
	result, err := o.machine.Exec(ctx, runtime.ExecRequest{ContainerID: o.runningContainers()[pod+"/c"], Command: []string{"sh", "-c", script}})
	require.NoError(o, err)
	return string(result.Output)
}

// TestContainerd: a node of real containers in a cluster, on both families; all workloads on
// the newer one.
func TestContainerd(t *testing.T) {
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			o := joinContainerd(t, version)
			t.Run("Files", func(t *testing.T) { o.withTest(t).checkFiles() })
			t.Run("Static", func(t *testing.T) { o.withTest(t).staticPod() })
			t.Run("Killed", func(t *testing.T) { o.withTest(t).agentKilled() })
			t.Run("Serve", func(t *testing.T) { o.withTest(t).checkServe() })
			if version == e2e.Containerd2 {
				o.runWorkloads()
			}
		})
	}
}

// checkFiles checks that a pod sees its ConfigMap, its Secret, its token, and a later version of the ConfigMap. Its log
// is in the kubelet's place. A pod on the host network has the address of the host.
func (o *onContainerd) checkFiles() {
	o.applyManifest(`
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue}
---
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {word: sesame}
---
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: $IMAGE
    command: [sh, -c, "echo ready; sleep 3600"]
    env: [{name: WORD, valueFrom: {secretKeyRef: {name: key, key: word}}}]
    volumeMounts: [{name: all, mountPath: /all}, {name: key, mountPath: /key}]
  volumes:
  - {name: all, projected: {sources: [{configMap: {name: settings}}, {downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}}
  - {name: key, secret: {secretName: key, defaultMode: 0400}}
---
apiVersion: v1
kind: Pod
metadata: {name: host}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: $IMAGE, command: $SLEEP}]
`)
	o.waitForRunning("reader", "host")
	assert.Equal(o, "sesame sesame blue reader -r--------\n", o.runScript("reader", `echo $WORD $(cat /key/word) $(cat /all/color) $(cat /all/name) $(ls -lL /key/word | cut -c1-10)`))
	assert.Regexp(o, `^default [\w-]+\.[\w-]+\.[\w-]+\n$`, o.runScript("reader", `cd /var/run/secrets/kubernetes.io/serviceaccount; echo $(cat namespace) $(cat token)`))
	assert.Contains(o, o.runScript("reader", `cat /var/run/secrets/kubernetes.io/serviceaccount/ca.crt`), "BEGIN CERTIFICATE")
	o.kubectl("patch", "configmap", "settings", "-p", `{"data":{"color":"green"}}`)
	began := time.Now()
	for o.runScript("reader", "cat /all/color") != "green" {
		require.Less(o, time.Since(began), joinLimit)
		time.Sleep(100 * time.Millisecond)
	}
	o.Logf("a change of a ConfigMap is seen in a container after %v", time.Since(began).Round(time.Millisecond))
	assert.Equal(o, o.getFields("{.status.hostIP}", "pod/host"), o.getFields("{.status.podIP}", "pod/host"))
	assert.NotEqual(o, o.getFields("{.status.hostIP}", "pod/reader"), o.getFields("{.status.podIP}", "pod/reader"))
	for _, path := range []string{
		"log/pods/default_reader_" + o.getFields("{.metadata.uid}", "pod/reader") + "/c/0.log",
		"log/containers/reader_default_c-" + o.runningContainers()["reader/c"] + ".log",
	} {
		log, err := os.ReadFile(filepath.Join(o.root, path))
		require.NoError(o, err)
		assert.Contains(o, string(log), " stdout F ready\n")
	}
	o.kubectl("delete", "pod/reader", "pod/host", "configmap/settings", "secret/key")
	o.waitForNoPods()
}

// staticPod has a mirror pod, and both go with the manifest.
func (o *onContainerd) staticPod() {
	manifest := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: dns, namespace: default}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: %q, command: [sleep, 1h]}]}}`, o.images[0])
	require.NoError(o, os.WriteFile(filepath.Join(o.manifests, "dns.yaml"), []byte(manifest), 0o600))
	o.waitForRunning("dns-n1")
	mirror, err := o.seen.Pods().Get(o.Context(), "default", "dns-n1")
	require.NoError(o, err)
	assert.Contains(o, mirror.Annotations, v1.MirrorPodAnnotationKey)
	before := o.runningContainers()
	o.kubectl("delete", "pod", "dns-n1", "--wait=false")
	waitForObjects(o.T, o.seen.PodFeed(), "another mirror pod", func(have map[string]*v1.Pod) bool {
		return have["dns-n1"] != nil && have["dns-n1"].UID != mirror.UID && have["dns-n1"].Status.Phase == v1.PodRunning
	})
	assert.Equal(o, before, o.runningContainers())
	require.NoError(o, os.Remove(filepath.Join(o.manifests, "dns.yaml")))
	o.waitForNoPods()
}

// listPodNames returns the names of the pods that are not being deleted, static pods last.
func (o *onContainerd) listPodNames() (names []string) {
	o.Helper()
	list, err := o.seen.PodFeed().List(o.Context(), "")
	require.NoError(o, err)
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	slices.Reverse(names) // web-..., dns-n1
	return names
}

// agentKilled: the program is killed and started again while pods run. None is restarted,
// also not by a second one with the same directory, which is refused.
func (o *onContainerd) agentKilled() {
	manifest := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: dns, namespace: default}, spec: {containers: [{name: c, image: %q, command: [sleep, 1h]}]}}`, o.images[0])
	require.NoError(o, os.WriteFile(filepath.Join(o.manifests, "dns.yaml"), []byte(manifest), 0o600))
	o.applyManifest(deployment)
	o.rolledOut("deployment/web")
	names := o.listPodNames()
	o.waitForRunning(names...)
	before := o.runningContainers()
	assert.Len(o, before, 4)
	printed, err := o.second()
	assert.Error(o, err)
	assert.Contains(o, printed, ": another agent uses it")
	for range 3 {
		o.kill()
		o.kubectl("delete", "pod", names[0], "--wait=false") // While it is away.
		o.start()
		o.rolledOut("deployment/web")
		gone := names[0]
		names = o.listPodNames()
		o.waitForRunning(names...)
		after := o.runningContainers()
		assert.Len(o, after, 4)
		delete(before, gone+"/c")
		for name, id := range before {
			assert.Equal(o, id, after[name], name)
		}
		before = after
		assert.Equal(o, []string{"0", "0", "0", "0"}, strings.Fields(o.getFields("{.items[*].status.containerStatuses[0].restartCount}", "pods")))
	}
	require.NoError(o, os.Remove(filepath.Join(o.manifests, "dns.yaml")))
	o.kubectl("delete", "deployment", "web")
	o.waitForNoPods()
}

// checkServe checks the same as the method of joint, with a real echo server in the pod.
func (o *onContainerd) checkServe() {
	o.checkServeWith("nc -ll -p 8080 -e cat & ")
	o.waitForNoPods()
}
