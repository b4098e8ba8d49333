package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// inMemory returns the node of these flags, with the in-memory runtime.
func inMemory(t *testing.T, flags ...string) (*cluster.Node, cluster.Config) {
	o, err := parse(append([]string{"--kubeconfig", "x", "--hostname-override", "n1"}, flags...))
	require.NoError(t, err)
	config, err := o.nodeConfigAndLockRoot(apiservertest.New(apiservertest.Config{}).Client("n1"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	n, err := cluster.New(config)
	require.NoError(t, err)
	return n, config
}

// TestConfigz: the effective configuration, flags and defaults, has the form of a kubelet's. Only users that the API
// server allows can read it.
func TestConfigz(t *testing.T) {
	n, config := inMemory(t, "--max-pods", "7", "--cluster-dns", "192.0.2.53", "--cluster-domain", "cluster.local", "--register-with-taints", "k=v:NoSchedule", "--client-ca-file", "/ca.crt")
	text, err := json.MarshalIndent(config.Configuration(), "", " ")
	require.NoError(t, err)
	assert.Equal(t, strings.TrimSpace(`
{
 "address": "0.0.0.0",
 "apiVersion": "kubelet.config.k8s.io/v1beta1",
 "authentication": {
  "anonymous": {
   "enabled": false
  },
  "webhook": {
   "enabled": true
  },
  "x509": {
   "clientCAFile": "/ca.crt"
  }
 },
 "authorization": {
  "mode": "Webhook"
 },
 "clusterDNS": [
  "192.0.2.53"
 ],
 "clusterDomain": "cluster.local",
 "containerLogMaxFiles": 5,
 "containerLogMaxSize": "10Mi",
 "crashLoopBackOff": {
  "maxContainerRestartPeriod": "5m0s"
 },
 "enableServer": true,
 "imageGCHighThresholdPercent": 85,
 "imageGCLowThresholdPercent": 80,
 "imageMaximumGCAge": "0s",
 "imageMinimumGCAge": "2m0s",
 "kind": "KubeletConfiguration",
 "maxParallelImagePulls": 10,
 "maxPods": 7,
 "nodeLeaseDurationSeconds": 40,
 "nodeStatusReportFrequency": "5m0s",
 "nodeStatusUpdateFrequency": "10s",
 "port": 10250,
 "registerNode": true,
 "registerWithTaints": [
  {
   "key": "k",
   "value": "v",
   "effect": "NoSchedule"
  }
 ],
 "serializeImagePulls": false,
 "syncFrequency": "1m0s"
}`), string(text))

	handler, err := n.Handler(nil)
	require.NoError(t, err)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/configz", nil))
	assert.Equal(t, 401, answer.Code)
}

// TestConfigz_Eviction: the thresholds and the reserved resources are shown if the node evicts. Containers in memory have no default thresholds.
func TestConfigz_Eviction(t *testing.T) {
	_, config := inMemory(t)
	assert.Nil(t, config.Node.Eviction.Signals)
	_, config = inMemory(t, "--eviction-hard", "memory.available<1Mi", "--eviction-soft", "pid.available<9", "--eviction-soft-grace-period", "pid.available=1m",
		"--system-reserved", "memory=1Mi")
	assert.NotNil(t, config.Node.Eviction.Signals)
	all, shown := config.Configuration().(jsonObject), jsonObject{}
	for name, value := range all {
		if strings.HasPrefix(name, "eviction") || strings.HasSuffix(name, "Reserved") {
			shown[name] = value
		}
	}
	assert.Equal(t, jsonObject{
		"evictionHard": map[string]string{"memory.available": "1Mi"}, "evictionSoft": map[string]string{"pid.available": "9"},
		"evictionSoftGracePeriod": map[string]string{"pid.available": "1m"}, "evictionMaxPodGracePeriod": int64(0), "evictionPressureTransitionPeriod": "5m0s",
		"systemReserved": map[string]string{"memory": "1Mi"},
	}, shown)
	allocatable, capacity := config.Node.Allocatable(), config.Node.Scheduling.Capacity
	assert.Equal(t, capacity.Memory().Value()-2<<20, allocatable.Memory().Value(), "the reserved memory and the hard threshold")
}

// TestConfig_GRPCProbes: a pod with a gRPC probe is admitted.
func TestConfig_GRPCProbes(t *testing.T) {
	n, config := inMemory(t)
	assert.NotNil(t, config.Node.Probes.GRPC, "containers of a CRI runtime do not answer by themselves")
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i", LivenessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 9000}}}}}}}
	pod.Name, pod.Namespace, pod.UID = "web", "default", "u"
	assert.NoError(t, n.Node().Scheduling().Fits(pod))
}
