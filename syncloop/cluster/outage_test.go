package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// usesConfig is a pod whose container has a ConfigMap as variables, and fails its liveness probe a minute after each start.
func usesConfig(pod *v1.Pod) {
	pod.Annotations = map[string]string{"memory.podkeel.dev/c.liveness": "ok for=1m; fail"}
	pod.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}
	pod.Spec.Containers[0].LivenessProbe = &v1.Probe{
		ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}, PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 1,
	}
}

// stopFirst stops the process of the first container of a pod.
func (h *harness) stopFirst(name string) {
	h.Helper()
	pods, err := h.machine.ListPods(h.Context())
	require.NoError(h, err)
	for _, pod := range pods {
		if pod.Name == name {
			require.NoError(h, h.machine.ExitContainer(pod.Containers[0].ID, 1))
			return
		}
	}
	require.Fail(h, "no pod", name)
}

// TestCluster_WithoutServer: the table of the section "Without network" of examples/cluster. During an outage the node
// probes and restarts the containers of both kinds of pods. A node that restarts without a server leaves the pods of
// the server as they are. After a reboot without a server only static pods run.
func TestCluster_WithoutServer(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	h.configMap("conf", "1")
	static := func() {
		pod := dns()
		pod.Spec.RestartPolicy = v1.RestartPolicyAlways
		require.NoError(t, h.static.Apply(pod))
	}
	h.bind("web", usesConfig)
	plain := h.bind("plain", mount("conf", ""))
	h.start()
	static()
	h.after(30 * time.Second)
	require.Equal(t, "web/c attempt 0, plain/c attempt 0, dns-n1/c attempt 0", h.running())

	h.server.Down()
	h.after(90 * time.Second)
	h.stopFirst("plain")
	h.stopFirst("dns-n1")
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 3, plain/c attempt 1, dns-n1/c attempt 1", h.running(), "an outage")

	h.crash()
	h.start()
	static()
	h.after(10 * time.Second)
	h.stopFirst("plain")
	h.stopFirst("dns-n1")
	h.after(10 * time.Minute)
	assert.Equal(t, "web/c attempt 3, dns-n1/c attempt 2", h.running(), "a restart of the agent: plain stays down, and nothing probes web")
	assert.Equal(t, "1", h.read(plain, "c/k"), "a restart of the agent keeps the files of volumes")

	h.crash()
	h.machine.LoseAll()
	h.start()
	static()
	h.after(10 * time.Minute)
	assert.Equal(t, "dns-n1/c attempt 0", h.running(), "a reboot")

	h.server.Up()
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 1, plain/c attempt 1, dns-n1/c attempt 0", h.running(), "the server answers")
}

// TestCluster_TokenExpiresWithoutServer: a token that expires during an outage stays in its file until the server
// answers. A container of the pod that exits is restarted all the same.
func TestCluster_TokenExpiresWithoutServer(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	_, err := h.server.Admin().Create(t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}})
	require.NoError(t, err)
	web := h.bind("web", withToken)
	h.bind("plain")
	h.start()
	h.after(time.Minute)
	token := h.read(web, "t/token")
	h.server.Down()
	for _, c := range []struct {
		wait    time.Duration
		running string
	}{{30 * time.Minute, "web/c attempt 1, plain/c attempt 1"}, {5 * time.Hour, "web/c attempt 2, plain/c attempt 2"}} {
		h.after(c.wait)
		h.stopFirst("web")
		h.stopFirst("plain")
		h.after(10 * time.Minute)
		assert.Equal(t, c.running, h.running(), c.wait)
		assert.Equal(t, token, h.read(web, "t/token"), c.wait)
	}
	h.server.Up()
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 2, plain/c attempt 2", h.running())
	assert.NotEqual(t, token, h.read(web, "t/token"))
}
