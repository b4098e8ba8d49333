package main

import (
	"io"
	"log/slog"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// TestStaticPod_RuntimeClass: a manifest may name a runtime class. Without a cluster a flag defines the classes; the
// in-memory runtime accepts every class.
func TestStaticPod_RuntimeClass(t *testing.T) {
	manifest := strings.Replace(oneShot("job", 0, 0), "spec: {", "spec: {runtimeClassName: kata, ", 1)
	path := write(t, "job.yaml", manifest)
	log := runAgentUntil(t, []string{"--manifests", path, "--listen", "", "--node-name", "n"}, "job-n", "Completed")
	assert.Empty(t, linesWith(log, "trouble"))

	pod := &v1.Pod{Spec: v1.PodSpec{RuntimeClassName: new("kata"), Containers: []v1.Container{{Name: "c", Image: "i"}}}}
	pod.Name, pod.UID = "web", "u"
	for flags, want := range map[string]string{
		"--runtime-classes gvisor=runsc,kata=kata-qemu": "",
		"--runtime-classes gvisor=runsc":                `the class "kata" is not known`,
		"":                                              `the class "kata" is not known`,
	} {
		o, err := parseAgentOptions(append([]string{"--runtime", "cri", "--manifests", path, "--node-name", "n"}, strings.Fields(flags)...))
		require.NoError(t, err)
		o.runtime = "" // There is no containerd here.
		config, _, err := o.lockStateDirAndConfigureNode(slog.New(slog.NewTextHandler(io.Discard, nil)))
		require.NoError(t, err)
		config.Runtime = memory.New(memory.Config{})
		n, err := node.New(config)
		require.NoError(t, err)
		if err := n.Scheduling().Fits(pod); want == "" {
			assert.NoError(t, err, flags)
		} else {
			assert.ErrorContains(t, err, want, flags)
		}
	}
}

// TestStaticPod_NodeLabels: a node without a cluster has the labels that a kubelet sets itself, including the beta
// labels, which older manifests select.
func TestStaticPod_NodeLabels(t *testing.T) {
	var selector []string
	for key, value := range map[string]string{
		"kubernetes.io/hostname": "n", "kubernetes.io/os": goruntime.GOOS, "kubernetes.io/arch": goruntime.GOARCH,
		"beta.kubernetes.io/os": goruntime.GOOS, "beta.kubernetes.io/arch": goruntime.GOARCH, "disk": "ssd",
	} {
		selector = append(selector, key+`: "`+value+`"`)
	}
	path := write(t, "job.yaml", strings.Replace(oneShot("job", 0, 0), "spec: {", "spec: {nodeSelector: {"+strings.Join(selector, ", ")+"}, ", 1))
	runAgentUntil(t, []string{"--manifests", path, "--listen", "", "--node-name", "n", "--labels", "disk=ssd"}, "job-n", "Completed")
}
