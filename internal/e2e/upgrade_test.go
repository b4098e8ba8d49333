//go:build linux

package e2e_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// outgoing are the pods that run when the agent is replaced, by the source that they come from.
// Each container prints a line when it starts.
var outgoing = map[string]map[string]string{
	"file": {
		"plain": `
containers:
- {name: main, image: IMAGE, command: [sh, -c, "echo plain began; exec sleep 100000"]}
`,
		"keeper": `
volumes:
- {name: disk, emptyDir: {}}
- {name: memory, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
- {name: config, configMap: {name: settings}}
- {name: secret, secret: {secretName: password}}
- {name: names, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
- {name: all, projected: {sources: [{configMap: {name: settings}}, {secret: {name: password}}]}}
containers:
- name: main
  image: IMAGE
  command: [sh, -c, "trap 'exit 9' TERM; echo keeper began; echo kept > /disk/file; echo kept > /memory/file; sleep 100000 & wait"]
  volumeMounts:
  - {name: disk, mountPath: /disk}
  - {name: memory, mountPath: /memory}
  - {name: config, mountPath: /config}
  - {name: secret, mountPath: /secret}
  - {name: names, mountPath: /names}
  - {name: all, mountPath: /all}
  - {name: disk, mountPath: /sub, subPath: below}
`,
		"probed": `
containers:
- name: main
  image: IMAGE
  command: [sh, -c, "echo probed began; mkdir -p /www; echo ok > /www/index.html; exec httpd -f -p 8080 -h /www"]
  startupProbe: {httpGet: {port: 8080, path: /index.html}, periodSeconds: 1, failureThreshold: 60}
  livenessProbe: {tcpSocket: {port: 8080}, periodSeconds: 2}
  readinessProbe: {exec: {command: ["true"]}, periodSeconds: 2}
`,
		"sidecar": `
volumes:
- {name: shared, emptyDir: {}}
initContainers:
- {name: setup, image: IMAGE, command: [sh, -c, "echo setup began; echo made > /shared/file"], volumeMounts: [{name: shared, mountPath: /shared}]}
- name: helper
  image: IMAGE
  restartPolicy: Always
  command: [sh, -c, "echo helper began; exec sleep 100000"]
  startupProbe: {exec: {command: ["true"]}, periodSeconds: 1}
containers:
- {name: main, image: IMAGE, command: [sh, -c, "echo sidecar began; cat /shared/file; exec sleep 100000"], volumeMounts: [{name: shared, mountPath: /shared}]}
`,
		"hooked": `
terminationGracePeriodSeconds: 10
hostNetwork: true
containers:
- name: main
  image: IMAGE
  command: [sh, -c, "echo hooked began; exec sleep 100000"]
  lifecycle: {postStart: {exec: {command: [sh, -c, "echo started > /started"]}}, preStop: {exec: {command: ["true"]}}}
`,
	},
	"url": {
		"remote": `
volumes:
- {name: disk, emptyDir: {}}
containers:
- name: main
  image: IMAGE
  command: [sh, -c, "echo remote began; echo kept > /disk/file; exec sleep 100000"]
  volumeMounts: [{name: disk, mountPath: /disk}]
  readinessProbe: {exec: {command: [test, -f, /disk/file]}, periodSeconds: 2}
`,
		"again": `
containers:
- {name: main, image: IMAGE, command: [sh, -c, "echo again began; test -f /host/again && exec sleep 100000; touch /host/again; exit 3"], volumeMounts: [{name: host, mountPath: /host}]}
volumes:
- {name: host, hostPath: {path: HOST, type: Directory}}
`,
		"job": `
restartPolicy: Never
containers:
- {name: main, image: IMAGE, command: [sh, -c, "echo job began; echo the result > /dev/termination-log"]}
`,
	},
	"api": {
		"created": `
containers:
- name: main
  image: IMAGE
  command: [sh, -c, "echo created began; echo kept > /disk/file; exec sleep 100000"]
  volumeMounts: [{name: disk, mountPath: /disk}]
  livenessProbe: {exec: {command: [test, -f, /disk/file]}, periodSeconds: 2, initialDelaySeconds: 1}
volumes:
- {name: disk, emptyDir: {}}
`,
		"pair": `
shareProcessNamespace: true
containers:
- {name: main, image: IMAGE, command: [sh, -c, "echo pair began; exec sleep 100000"]}
- {name: other, image: IMAGE, command: [sh, -c, "echo other began; exec sleep 100000"]}
`,
		"failed": `
restartPolicy: Never
containers:
- {name: main, image: IMAGE, command: [sh, -c, "echo failed began; exit 7"]}
`,
		"once": `
restartPolicy: OnFailure
containers:
- {name: main, image: IMAGE, command: [sh, -c, "echo once began"]}
- {name: other, image: IMAGE, command: [sh, -c, "echo other began; exec sleep 100000"]}
`,
	},
}

// upgrade is an agent whose program is replaced.
type upgrade struct {
	replaced *e2e.Agent // the scene's agent, as it may be started and ended
	*scene
	url        *httptest.Server
	host       string // the directory of the host that pods use
	kubeconfig string
}

// TestUpgrade: a new version of the agent starts on the state directory and the containerd of the version before. It
// restarts nothing and loses nothing: the pods of every source keep their containers, volumes and statuses, and their
// logs can be read. The adopted pods behave like pods that the new version has started: they restart, write logs, and
// are removed with their logs and volumes.
func TestUpgrade(t *testing.T) {
	skipUnlessLong(t)
	commit, err := os.ReadFile("testdata/upgrade-from")
	require.NoError(t, err)
	old := t.TempDir()
	before, now := "", ""
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			c := e2e.Start(t, version)
			if now == "" {
				before, now = e2e.BuildAgentOf(t, old, strings.TrimSpace(string(commit))), buildAgent(t)
			}
			newUpgrade(t, c, before).runUpgrade(now)
		})
	}
}

func newUpgrade(t *testing.T, c *e2e.Containerd, program string) *upgrade {
	u := &upgrade{host: t.TempDir(), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	objects := t.TempDir()
	for name, text := range map[string]string{
		"configmaps/default/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: blue}\n",
		"secrets/default/password.yaml":    "apiVersion: v1\nkind: Secret\nmetadata: {name: password}\nstringData: {password: hidden}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(objects, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(objects, name), []byte(text), 0o600))
	}
	var remote bytes.Buffer
	text := strings.NewReplacer("IMAGE", c.Registry.Image(), "HOST", u.host)
	manifest := func(name, spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\nspec:\n" + indentText(text.Replace(spec))
	}
	for _, name := range slices.Sorted(maps.Keys(outgoing["url"])) {
		_, _ = remote.WriteString("---\n" + manifest(name, outgoing["url"][name]))
	}
	u.url = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(remote.Bytes()) }))
	t.Cleanup(u.url.Close)
	a := e2e.StartAgent(t, c, program, "--objects", objects, "--manifest-url", u.url.URL, "--manifest-url-period", "1s",
		"--write-kubeconfig", u.kubeconfig, "--api-write", "--housekeeping", "1s")
	u.scene, u.replaced = newScene(t, c, a), a
	for name, spec := range outgoing["file"] {
		a.Write(name+".yaml", manifest(name, spec))
	}
	for name, spec := range outgoing["api"] {
		u.createPod(manifest(name+"-"+e2e.NodeName, spec)) // As the pods of files, whose names end so.
	}
	return u
}

// createPod creates a pod through the local API. It retries until the API is ready.
func (u *upgrade) createPod(manifest string) {
	u.Helper()
	u.waitFor("a pod is created", soon, func() bool {
		code, _ := u.callAPI(http.MethodPost, "/api/v1/namespaces/default/pods", manifest)
		return code == http.StatusCreated
	})
}

// callAPI sends a request to the local API, with the credentials of its kubeconfig.
func (u *upgrade) callAPI(method, path, body string) (code int, text string) {
	config, err := os.ReadFile(u.kubeconfig)
	if err != nil {
		return 0, err.Error()
	}
	field := func(name string) string {
		found := regexp.MustCompile(name + `"?: *"?([^\s",}]+)`).FindSubmatch(config)
		if found == nil {
			return ""
		}
		return string(found[1])
	}
	r, err := http.NewRequestWithContext(u.Context(), method, field("server")+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Close = true
	r.Header.Set("Authorization", "Bearer "+field("token"))
	r.Header.Set("Content-Type", "application/yaml")
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 10 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	read, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(read)
}

// podNames returns the names of all pods, sorted.
func (u *upgrade) podNames() (names []string) {
	for _, pods := range outgoing {
		names = slices.AppendSeq(names, maps.Keys(pods))
	}
	slices.Sort(names)
	return names
}

// isSettled reports whether a pod is in its final state.
func isSettled(name string, p *v1.Pod) bool {
	switch {
	case p == nil:
		return false
	case name == "job":
		return p.Status.Phase == v1.PodSucceeded && !hasSandbox(p)
	case name == "failed":
		return p.Status.Phase == v1.PodFailed && !hasSandbox(p)
	case name == "once":
		return statusOf(p, "main").State.Terminated != nil && statusOf(p, "other").State.Running != nil
	case name == "again":
		return isReady(p) && statusOf(p, "main").RestartCount == 1
	}
	return isReady(p)
}

// hasSandbox reports whether the status of a pod says that its sandbox is ready.
func hasSandbox(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReadyToStartContainers && c.Status == v1.ConditionTrue
	})
}

// waitUntilSettled waits until all pods are in their final state.
func (u *upgrade) waitUntilSettled(when string) map[string]*v1.Pod {
	u.Helper()
	var pods map[string]*v1.Pod
	waits := ""
	for end := real.Now().Add(2 * soon); ; {
		pods, waits = u.board.listPods(), ""
		for _, name := range u.podNames() {
			if !isSettled(name, pods[name]) {
				waits += " " + name
			}
		}
		if waits == "" {
			return pods
		}
		if real.Now().After(end) {
			u.Fatalf("%s: not as they ought to be:%s", when, waits)
		}
		_ = real.Sleep(u.Context(), glance)
	}
}

// listRecords returns the sandboxes and containers of all pods, by ID.
func (u *upgrade) listRecords() map[string]string {
	u.Helper()
	ctx, cancel := u.callContext()
	defer cancel()
	all := map[string]string{}
	sandboxes, err := u.cri.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	require.NoError(u, err)
	for _, s := range sandboxes.Items {
		all[s.Id] = fmt.Sprint("sandbox ", s.Metadata, " ", s.State)
	}
	containers, err := u.cri.ListContainers(ctx, &cri.ListContainersRequest{})
	require.NoError(u, err)
	for _, c := range containers.Containers {
		all[c.Id] = fmt.Sprint("container ", c.Metadata, " ", c.State)
	}
	return all
}

// readVolumes returns the content of the pods' volumes, as their containers read it.
func (u *upgrade) readVolumes() map[string]string {
	u.Helper()
	return map[string]string{
		"disk":    u.runScript("keeper", "main", "cat /disk/file"),
		"memory":  u.runScript("keeper", "main", "cat /memory/file; df -k /memory | tail -1 | awk '{print $2}'"),
		"config":  u.runScript("keeper", "main", "cat /config/color"),
		"secret":  u.runScript("keeper", "main", "cat /secret/password"),
		"names":   u.runScript("keeper", "main", "cat /names/name"),
		"all":     u.runScript("keeper", "main", "cat /all/color /all/password"),
		"sub":     u.runScript("keeper", "main", "touch /sub/x && ls /disk/below"),
		"shared":  u.runScript("sidecar", "main", "cat /shared/file"),
		"remote":  u.runScript("remote", "main", "cat /disk/file"),
		"created": u.runScript("created", "main", "cat /disk/file"),
	}
}

// readLogs returns the logs of all containers, including the logs from before a restart, as the agent reads them.
func (u *upgrade) readLogs(pods map[string]*v1.Pod) map[string]string {
	u.Helper()
	all := map[string]string{}
	for name, p := range pods {
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			all[name+"/"+c.Name] = u.readLog(name, c.Name)
		}
	}
	text, err := u.agent.Get("/logs/default/" + pods["again"].Name + "/main?previous=true")
	require.NoError(u, err)
	all["again/main before"] = text
	return all
}

// comparableStatus is the status of a pod, line by line, without what a restarted agent cannot know: when a
// condition changed, and to the second when an earlier agent first saw the pod (for the new agent
// that is the creation of its sandbox). New since the commit that the test upgrades from are the reason of
// PodReadyToStartContainers, empty resources of containers without requests and limits, and the volume mounts and
// the user of containers.
func comparableStatus(t *testing.T, p *v1.Pod) []string {
	t.Helper()
	status := p.Status.DeepCopy()
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.LastTransitionTime, c.LastProbeTime = metav1.Time{}, metav1.Time{}
		if c.Type == v1.PodReadyToStartContainers {
			c.Reason, c.Message = "", ""
		}
	}
	for _, statuses := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range statuses {
			if r := statuses[i].Resources; r != nil && len(r.Requests)+len(r.Limits)+len(r.Claims) == 0 {
				statuses[i].Resources = nil
			}
			statuses[i].VolumeMounts, statuses[i].User = nil, nil
		}
	}
	require.NotNil(t, status.StartTime)
	status.StartTime = nil
	text, err := json.MarshalIndent(status, "", " ")
	require.NoError(t, err)
	return strings.Split(string(text), "\n")
}

func (u *upgrade) runUpgrade(program string) {
	pods := u.waitUntilSettled("before the upgrade")
	require.Len(u, pods, len(u.podNames()))
	var logs map[string]string
	u.waitFor("all containers have printed", soon, func() bool {
		logs = u.readLogs(pods)
		return !slices.ContainsFunc(slices.Collect(maps.Values(logs)), func(text string) bool { return !strings.Contains(text, "began\n") })
	})
	records, kept := u.listRecords(), u.readVolumes()
	for name := range kept {
		require.NotEmpty(u, kept[name], name)
	}

	u.replaced.AddFlags("--log-dir", "/var/log/pods") // As by default: the logs of new pods are where collectors look.
	u.replaced.Upgrade(program)
	u.waitUntilSettled("after the upgrade")
	_ = real.Sleep(u.Context(), 5*time.Second) // Longer than any backoff and probe: what would go wrong has.
	after := u.waitUntilSettled("a while after the upgrade")
	assert.Equal(u, records, u.listRecords(), "no container and no sandbox is another one")
	assert.Equal(u, kept, u.readVolumes())
	assert.Equal(u, logs, u.readLogs(after))
	require.Len(u, after, len(pods))
	for name, p := range pods {
		assert.Equal(u, p.UID, after[name].UID, name)
		assert.Equal(u, comparableStatus(u.T, p), comparableStatus(u.T, after[name]), name)
		assert.WithinDuration(u, p.Status.StartTime.Time, after[name].Status.StartTime.Time, 10*time.Second, name)
		for _, c := range after[name].Status.ContainerStatuses {
			assert.Equal(u, statusOf(p, c.Name).RestartCount, c.RestartCount, name)
		}
	}
	u.goesOn(after)
}

// goesOn: a container that ends is started again and its logs can be read, and a pod that goes
// takes everything with it that an earlier version made of it.
func (u *upgrade) goesOn(pods map[string]*v1.Pod) {
	u.runExitScript("keeper", "main", "kill 1")
	p := u.awaitPod("keeper", "restarted", func(p *v1.Pod) bool { return isReady(p) && statusOf(p, "main").RestartCount == 1 })
	u.waitFor("the next container has printed", soon, func() bool { return u.readLog("keeper", "main") == "keeper began\n" })
	before, err := u.agent.Get("/logs/default/" + p.Name + "/main?previous=true")
	require.NoError(u, err)
	assert.Equal(u, "keeper began\n", before)
	assert.Equal(u, "kept", u.runScript("keeper", "main", "cat /disk/file"))

	left := func(uid string) (paths []string) {
		for _, dir := range []string{u.agent.State, "/var/log/pods"} {
			_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err == nil && strings.Contains(e.Name(), uid) {
					paths = append(paths, path)
				}
				return nil
			})
		}
		return paths
	}
	require.NotEmpty(u, left(string(p.UID)))
	u.removePod("keeper")
	u.waitFor("nothing is left of keeper", soon, func() bool { return len(left(string(p.UID))) == 0 })
	created := pods["created"]
	code, text := u.callAPI(http.MethodDelete, "/api/v1/namespaces/default/pods/created-"+e2e.NodeName+"?gracePeriodSeconds=1", "")
	require.Equal(u, http.StatusOK, code, text)
	u.waitFor("nothing is left of created", soon, func() bool { return len(left(string(created.UID))) == 0 })
}
