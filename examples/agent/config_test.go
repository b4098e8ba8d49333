package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/syncloop"
)

// kubeletFile returns a configuration file with these lines below its kind.
func kubeletFile(t *testing.T, lines string) string {
	path := filepath.Join(t.TempDir(), "kubelet.yaml")
	rewrite(t, path, lines)
	return path
}

func rewrite(t *testing.T, path, lines string) {
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+lines), 0o600))
}

// TestConfig_EveryField: each supported field has the same effect as its flag.
func TestConfig_EveryField(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "resolv"), nil, 0o600))
	o, err := parseAgentOptions([]string{"--config", kubeletFile(t, `
staticPodPath: `+dir+`
staticPodURL: https://example.com/pods
staticPodURLHeader: {X-A: ["a,b", c], X-B: [d]}
syncFrequency: 2m
fileCheckFrequency: 5s
httpCheckFrequency: 6s
address: 127.0.0.3
port: 10299
maxPods: 9
registerNode: false
registerWithTaints: [{key: k, value: v, effect: NoSchedule}, {key: x, effect: NoExecute}]
containerRuntimeEndpoint: unix:///run/x.sock
podLogsDir: /var/log/x
containerLogMaxSize: 1Mi
containerLogMaxFiles: 4
imageMinimumGCAge: 3m
imageMaximumGCAge: 0s
imageGCHighThresholdPercent: 70
imageGCLowThresholdPercent: 60
serializeImagePulls: false
maxParallelImagePulls: 3
clusterDNS: [192.0.2.53, "2001:db8::53"]
clusterDomain: cluster.local
resolvConf: `+dir+`/resolv
cgroupDriver: cgroupfs
crashLoopBackOff: {maxContainerRestartPeriod: 30s}
`)})
	require.NoError(t, err)
	assert.Empty(t, o.warnings)
	assert.Equal(t, []any{dir, "https://example.com/pods", http.Header{"X-A": {"a,b", "c"}, "X-B": {"d"}}}, []any{o.manifests, o.manifestURL, o.urlHeader})
	assert.Equal(t, []time.Duration{2 * time.Minute, 5 * time.Second, 6 * time.Second, 3 * time.Minute, 0, 30 * time.Second},
		[]time.Duration{o.resync, o.filePeriod, o.urlPeriod, o.imageGC.MinAge, o.imageGC.MaxAge, o.maxRestart})
	assert.Equal(t, []any{"127.0.0.3:10299", 9, "cri", "unix:///run/x.sock", "/var/log/x"}, []any{o.listen, o.maxPods, o.runtime, o.criEndpoint, o.logs.Dir})
	assert.Equal(t, []v1.Taint{{Key: "k", Value: "v", Effect: v1.TaintEffectNoSchedule}, {Key: "x", Effect: v1.TaintEffectNoExecute}}, o.taints)
	assert.Equal(t, []any{int64(1 << 20), 4, 70, 60, 3}, []any{o.logMaxBytes, o.logMaxFiles, o.imageGC.HighThresholdPercent, o.imageGC.LowThresholdPercent, o.maxPulls})
	assert.Equal(t, []any{[]string{"192.0.2.53", "2001:db8::53"}, "cluster.local", dir + "/resolv", "cgroupfs"}, []any{o.dns.ClusterDNS, o.dns.ClusterDomain, *o.resolver, o.cgroups.Driver})

	// The file above has every field of the struct, and every field sets a flag.
	known := map[string]bool{}
	for _, f := range new(kubeletConfig).flagSettings() {
		known[f.field] = true
		if f.flag != "" {
			assert.NotNil(t, o.allFlags().flagWithNameOrAlias(f.flag), f.flag)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[kubeletConfig]()) {
		name := f.Tag.Get("json")
		assert.True(t, known[name] || name == "apiVersion" || name == "kind" || name == "registerNode" || len(f.Index) > 1, name)
		assert.NotContains(t, strings.Fields(kubeletOnlyFields), name)
	}
}

// TestConfig_FlagsWin: flags override the file, wherever they stand. Headers too.
func TestConfig_FlagsWin(t *testing.T) {
	file := kubeletFile(t, "maxPods: 9\nport: 1234\nsyncFrequency: 2m\nstaticPodURL: http://a/\nstaticPodURLHeader: {A: [b]}\nregisterWithTaints: [{key: k, effect: NoSchedule}]\nserializeImagePulls: true\n")
	o, err := parseAgentOptions([]string{"--max-pods", "5", "--manifest-url-header", "C:d", "--manifest-url-header", "C:e,F:g", "--taints", "x:NoSchedule", "--config", file})
	require.NoError(t, err)
	assert.Equal(t, []any{5, "127.0.0.1:1234", 2 * time.Minute, 1}, []any{o.maxPods, o.listen, o.resync, o.maxPulls})
	assert.Equal(t, http.Header{"C": {"d", "e"}, "F": {"g"}}, o.urlHeader)
	assert.Len(t, o.taints, 1)
	o, err = parseAgentOptions([]string{"--config", file, "--listen", ""})
	require.NoError(t, err)
	assert.Empty(t, o.listen)
	o, err = parseAgentOptions([]string{"--config", kubeletFile(t, "enableServer: false\n")})
	require.NoError(t, err)
	assert.Empty(t, o.listen)
	assert.False(t, o.usesEmbeddedExamples(), "no examples run beside a configuration")
}

// TestConfig_CgroupDriver: a flag overrides the field, an empty field sets nothing, and an invalid field is refused.
func TestConfig_CgroupDriver(t *testing.T) {
	cri := func(field string) []string {
		return []string{"--config", kubeletFile(t, "staticPodPath: "+t.TempDir()+"\n"+field), "--runtime", "cri"}
	}
	o, err := parseAgentOptions(append(cri("cgroupDriver: systemd\n"), "--cgroup-driver", "cgroupfs"))
	require.NoError(t, err)
	assert.Equal(t, "cgroupfs", o.cgroups.Driver)
	o, err = parseAgentOptions(cri("cgroupDriver: \"\"\n"))
	require.NoError(t, err)
	assert.Empty(t, o.cgroups.Driver)
	args := cri("cgroupDriver: none\n")
	_, err = parseAgentOptions(args)
	assert.EqualError(t, err, "--config "+args[1]+": line 4: cgroupDriver \"none\": expected cgroupfs or systemd")
}

// TestConfig_Eviction: the fields about evictions set the same thresholds as the flags. A flag overrides its field.
func TestConfig_Eviction(t *testing.T) {
	file := kubeletFile(t, "evictionHard: {memory.available: 1Gi, nodefs.available: \"10%\"}\nevictionSoft: {memory.available: 2Gi}\nevictionSoftGracePeriod: {memory.available: 1m30s}\n"+
		"evictionMinimumReclaim: {memory.available: 5Mi}\nevictionPressureTransitionPeriod: 1m0s\nevictionMaxPodGracePeriod: 60\n")
	o, err := parseAgentOptions([]string{"--config", file})
	require.NoError(t, err)
	assert.Empty(t, o.warnings)
	var want, overridden options
	for _, err := range []error{
		want.eviction.SetHard("memory.available<1Gi,nodefs.available<10%"), want.eviction.SetSoft("memory.available<2Gi"), want.eviction.SetSoftGracePeriod("memory.available=90s"),
		want.eviction.SetSoftGracePeriod("memory.available=1m30s"), want.eviction.SetMinimumReclaim("memory.available=5Mi"), want.eviction.SetTransitionPeriod("1m"), want.eviction.SetMaxPodGrace("60"),
		overridden.eviction.SetHard("memory.available<3Gi"),
	} {
		require.NoError(t, err)
	}
	assert.Equal(t, want.eviction, o.eviction)
	o, err = parseAgentOptions([]string{"--config", kubeletFile(t, "evictionHard: {memory.available: 1Gi}\n"), "--eviction-hard", "memory.available<3Gi"})
	require.NoError(t, err)
	assert.Equal(t, overridden.eviction, o.eviction)
	_, err = parseAgentOptions([]string{"--config", kubeletFile(t, "evictionHard: {memory.available: many}\n")})
	require.ErrorContains(t, err, "evictionHard")
}

// TestConfig_DefaultThresholds: hard thresholds of the file replace all defaults, also if the file has none.
// mergeDefaultEvictionSettings keeps the defaults of the other signals.
func TestConfig_DefaultThresholds(t *testing.T) {
	for text, flag := range map[string]string{
		"evictionHard: {memory.available: 1Gi}\n":                                      "memory.available<1Gi",
		"evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: false\n": "memory.available<1Gi",
		"evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true\n":  "memory.available<1Gi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%",
		"evictionHard: {}\n": "",
		"evictionHard: null\nmergeDefaultEvictionSettings: true\n": "unset",
		"mergeDefaultEvictionSettings: true\n":                     "unset",
	} {
		o, err := parseAgentOptions([]string{"--config", kubeletFile(t, text)})
		require.NoError(t, err, text)
		assert.Empty(t, o.warnings, text)
		var want options
		if flag != "unset" {
			require.NoError(t, want.eviction.SetHard(flag))
		}
		assert.Equal(t, want.eviction, o.eviction, text)
	}
}

// TestConfig_Reserved: the fields about reserved resources set the same as the flags. A flag overrides its field.
func TestConfig_Reserved(t *testing.T) {
	file := kubeletFile(t, "systemReserved: {cpu: 100m, memory: 1Mi}\nkubeReserved: {cpu: 200m}\n")
	o, err := parseAgentOptions([]string{"--config", file, "--kube-reserved", "cpu=300m"})
	require.NoError(t, err)
	assert.Empty(t, o.warnings)
	c, _, err := o.lockStateDirAndConfigureNode(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.Equal(t, []string{"400m", "1Mi"}, []string{c.Scheduling.Reserved.Cpu().String(), c.Scheduling.Reserved.Memory().String()})
	o, err = parseAgentOptions([]string{"--system-reserved", "memory=100000Ti"})
	require.NoError(t, err)
	_, _, err = o.lockStateDirAndConfigureNode(slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, "memory of 100000Ti is more than the capacity of ")
}

// TestConfig_EvictionInMemory: simulated containers are evicted only if a flag or a field of the file sets thresholds.
func TestConfig_EvictionInMemory(t *testing.T) {
	for flags, evicts := range map[string]bool{"": false, "--eviction-max-pod-grace-period=5": false, "--eviction-hard=pid.available<1": true} {
		o, err := parseAgentOptions(strings.Fields(flags))
		require.NoError(t, err)
		c, _, err := o.lockStateDirAndConfigureNode(slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		assert.Equal(t, evicts, c.Eviction.Signals != nil, flags)
	}
}

// TestConfig_Warnings: a field for kubelets only is a warning, one sentence each.
func TestConfig_Warnings(t *testing.T) {
	file := kubeletFile(t, "address: 0.0.0.0\nregistryBurst: 7\nregistryPullQPS: 5\nregisterNode: true\nshutdownGracePeriod: 30s\ndefaultPodSysctls: {net.ipv4.tcp_keepalive_time: \"60\"}\n")
	o, err := parseAgentOptions([]string{"--config", file})
	require.NoError(t, err)
	assert.Equal(t, []string{
		file + ": line 4: registryBurst has no effect on this agent",
		file + ": line 5: registryPullQPS has no effect on this agent",
		file + ": line 7: shutdownGracePeriod has no effect on this agent",
		file + ": line 8: defaultPodSysctls has no effect on this agent",
		file + ": line 6: registerNode has no effect on this agent, which joins no cluster",
	}, o.warnings)
}

// TestConfig_KubeletFileInMemory: the file of a kubelet on containerd can be used with the in-memory runtime. Each
// field without effect is a warning with file and line, whatever its value.
func TestConfig_KubeletFileInMemory(t *testing.T) {
	dir := t.TempDir()
	file := kubeletFile(t, "staticPodPath: "+dir+`
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
podLogsDir: /var/log/pods
resolvConf: /no/such/resolv.conf
clusterDomain: cluster.local
staticPodURLHeader: {A: [b]}
cgroupDriver: systemd
cgroupRoot: /pods
`)
	runtimeOnly := []string{
		file + ": line 9: cgroupDriver has no effect on the runtime in memory",
		file + ": line 4: containerRuntimeEndpoint has no effect on the runtime in memory",
		file + ": line 5: podLogsDir has no effect on the runtime in memory",
		file + ": line 6: resolvConf has no effect on the runtime in memory",
	}
	others := []string{file + ": line 8: staticPodURLHeader has no effect without --manifest-url", file + ": line 7: clusterDomain has no effect without --cluster-dns"}
	o, err := parseAgentOptions([]string{"--config", file, "--runtime", "memory"})
	require.NoError(t, err)
	assert.Equal(t, slices.Concat([]string{file + ": line 10: cgroupRoot has no effect on this agent"}, runtimeOnly, others), o.warnings)
	assert.Equal(t, []any{"memory", "", "", "", 0}, []any{o.runtime, o.criEndpoint, o.logs.Dir, o.dns.ClusterDomain, len(o.urlHeader)})
	assert.Nil(t, o.resolver)

	code, _, stderr := called("--config", file, "--runtime", "cri")
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, "agent: --config "+file+": line 6: resolvConf \"/no/such/resolv.conf\": no such file or directory\n", stderr)

	// Without an endpoint the runtime is in memory, and such flags on the command line are still errors.
	file = kubeletFile(t, "staticPodPath: "+dir+"\npodLogsDir: /var/log/pods\nimageGCLowThresholdPercent: 90\nmaxPods: 5\n")
	code, _, stderr = called("--config", file, "--capacity", "pods=7", "--cluster-domain", "x")
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, "agent: --config "+file+": line 5: imageGCLowThresholdPercent 90: expected at most --image-gc-high, which is 85\n"+
		"agent: --config "+file+": line 6: maxPods 5: --capacity says pods=7\n"+
		"agent: --cluster-domain has no effect without --cluster-dns\n", stderr)
	code, _, stderr = called("--config", kubeletFile(t, "staticPodPath: "+dir+"\n"), "--log-dir", "/x")
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, "agent: --log-dir has no effect without --runtime cri\n", stderr)
}

// TestConfig_Zero: a zero value stands for the default, as in a kubelet, and causes no warning.
func TestConfig_Zero(t *testing.T) {
	o, err := parseAgentOptions([]string{"--config", kubeletFile(t, `
staticPodPath: ""
staticPodURL: ""
syncFrequency: 0s
fileCheckFrequency: 0s
httpCheckFrequency: 0s
address: ""
port: 0
maxPods: 0
containerRuntimeEndpoint: ""
podLogsDir: ""
containerLogMaxSize: ""
imageMinimumGCAge: 0s
imageMaximumGCAge: 0s
clusterDomain: ""
cpuManagerReconcilePeriod: 0s
healthzPort: 0
`)})
	require.NoError(t, err)
	assert.Empty(t, o.warnings)
	without, err := parseAgentOptions([]string{"--config", kubeletFile(t, "")})
	require.NoError(t, err)
	assert.Equal(t, []any{without.resync, without.filePeriod, without.urlPeriod, without.listen, without.maxPods, without.runtime, without.logs, without.logMaxBytes, without.imageGC},
		[]any{o.resync, o.filePeriod, o.urlPeriod, o.listen, o.maxPods, o.runtime, o.logs, o.logMaxBytes, o.imageGC})
}

// TestConfig_Faults: unknown fields and bad values are errors with their lines, all at once.
func TestConfig_Faults(t *testing.T) {
	for lines, want := range map[string]string{
		"staticpodpath: /x\nmaxPod: 3\n": "line 3: staticpodpath: unknown field (did you mean \"staticPodPath\"?)\n" +
			"line 4: maxPod: unknown field",
		"maxPods: many\n":                                  "line 3: maxPods: \"many\" is a string: expected a whole number",
		"maxPods: -1\nsyncFrequency: 1 minute\n":           "line 4: syncFrequency \"1 minute\": expected a duration above zero, such as 10s or 1m30s\nline 3: maxPods \"-1\": expected a number from 1",
		"staticPodPath: no/such\n":                         "line 3: staticPodPath \"DIR/no/such\": no such file or directory",
		"staticPodURL: ftp://x\n":                          "line 3: staticPodURL \"ftp://x\": expected an address, as https://example.com/pods.yaml",
		"httpCheckFrequency: 10ms\n":                       "line 3: httpCheckFrequency \"10ms\": expected a duration from 1s",
		"staticPodURLHeader: {X: [\"a\\nInjected: b\"]}\n": "line 3: staticPodURLHeader \"X:a\\rInjected: b\": expected headers, as Authorization:Bearer x,Accept:text/yaml",
		"maxPods: [\n":                                     "line 3: not YAML: did not find expected node content",
		"---\nkind: Pod\n":                                 "expected one KubeletConfiguration",
	} {
		file := kubeletFile(t, lines)
		code, stdout, stderr := called("--config", file)
		assert.Equal(t, exitUsage, code)
		assert.Empty(t, stdout)
		var faults []string
		for line := range strings.SplitSeq(strings.ReplaceAll(want, "DIR", filepath.Dir(file)), "\n") {
			faults = append(faults, "agent: --config "+file+": "+line+"\n")
		}
		assert.Equal(t, strings.Join(faults, ""), stderr, lines)
	}
	code, _, stderr := called("--config", "no/such")
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, "agent: --config \"no/such\": no such file or directory\n", stderr)
	other := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(other, []byte("apiVersion: v1\nkind: Pod\n"), 0o600))
	_, _, stderr = called("--config", other)
	assert.Equal(t, "agent: --config "+other+": expected apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration\n", stderr)
}

// TestReload: SIGHUP applies the reloadable fields and names the fields that need a restart. A bad file changes
// nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	pod := func(name string) []byte {
		return []byte(strings.ReplaceAll(talker, "talker", name))
	}
	require.NoError(t, os.WriteFile(filepath.Join(one, "a.yaml"), pod("first"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(two, "a.yaml"), pod("second"), 0o600))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pod("third")) }))
	defer server.Close()
	file := kubeletFile(t, "staticPodPath: "+one+"\n")
	out, log := newLines(), newLines()
	o, err := parseAgentOptions([]string{"--config", file, "--listen", "", "--node-name", "n", "--events=false"})
	require.NoError(t, err)
	a, err := newAgent(o, out, log)
	require.NoError(t, err)
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- a.runUntilStopped(signals) }()
	out.until(t, "first-n", "2/2")

	hangUp := func(lines string) {
		rewrite(t, file, lines)
		self, err := os.FindProcess(os.Getpid())
		require.NoError(t, err)
		require.NoError(t, self.Signal(syscall.SIGHUP))
	}
	hangUp("staticPodPath: " + one + "\nmaxPods: x\n")
	log.until(t, "nothing was changed", "maxPods")
	hangUp("staticPodPath: " + two + "\nstaticPodURL: " + server.URL + "\nmaxPods: 7\nregistryBurst: 7\n")
	log.until(t, "registryBurst")
	log.until(t, "needs a restart", "maxPods")
	log.until(t, "was read again", "changed=2", "restart=1")
	awaited := map[string]string{"first-n": "Gone", "second-n": "2/2", "third-n": "2/2"}
	for len(awaited) > 0 {
		line := out.next(t)
		for name, state := range awaited {
			if hasAll(line, []string{name, state}) {
				delete(awaited, name)
			}
		}
	}
	hangUp("staticPodPath: " + two + "\nmaxPods: 7\n")
	log.until(t, "needs a restart", "maxPods")
	log.until(t, "was read again", "changed=1", "restart=1")
	out.until(t, "third-n", "Gone")
	signals <- os.Interrupt
	require.NoError(t, <-ended)
}

// TestWaitUntilStable: reloading waits until a file is no longer being written, but not for ever.
func TestWaitUntilStable(t *testing.T) {
	for _, c := range []struct {
		texts string // a letter for each read
		reads int
	}{{"aa", 2}, {"abb", 3}, {"abcbb", 5}, {strings.Repeat("ab", 100), 26}} {
		reads := 0
		read := func() string { reads++; return c.texts[reads-1 : reads] }
		assert.True(t, rereadUntilStable(read, func() bool { return true }))
		assert.Equal(t, c.reads, reads, c.texts)
	}
	assert.False(t, rereadUntilStable(func() string { return "" }, func() bool { return false }), "the agent ends")
}

// TestReload_StateDir: a URL that is set while the agent runs has its last good answer saved in the state directory of
// the agent, also in the default one.
func TestReload_StateDir(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(talker)) }))
	defer server.Close()
	file := kubeletFile(t, "maxPods: 7\n")
	running, err := parseAgentOptions([]string{"--config", file, "--node-name", "n"})
	require.NoError(t, err)
	running.stateDir = t.TempDir() // As lockStateDirAndConfigureNode does with a CRI runtime.
	a := &agent{options: running, log: slog.New(slog.DiscardHandler), files: newReplaceableSource(nil), web: newReplaceableSource(nil)}
	rewrite(t, file, "maxPods: 7\nstaticPodURL: "+server.URL+"\n")
	a.reloadConfig()
	snapshot, err := a.web.current.(*manifest.URLSource).Poll(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "talker-n", snapshot.Pods[0].Name)
	assert.FileExists(t, filepath.Join(running.stateDir, "sources", "manifest-url.json"))
}

// TestChangedFlags_Overridden: a change of a field that a flag overrides has no effect.
func TestChangedFlags_Overridden(t *testing.T) {
	file := kubeletFile(t, "maxPods: 7\nsyncFrequency: 5s\n")
	args := []string{"--max-pods", "5", "--config", file}
	before, err := parseAgentOptions(args)
	require.NoError(t, err)
	rewrite(t, file, "maxPods: 8\nsyncFrequency: 6s\n")
	now, err := parseAgentOptions(args)
	require.NoError(t, err)
	hot, cold := changedFlags(before.setFlags, now.setFlags)
	assert.Empty(t, hot)
	assert.Equal(t, []string{"syncFrequency"}, cold)
}

// TestReplaceableSource: the next source replaces the last one, which is stopped. The error of a failed source is returned.
func TestReplaceableSource(t *testing.T) {
	said := make(chan string, 10)
	s := newReplaceableSource(speaker{"one"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, hearer(said)) }()
	assert.Equal(t, "one", <-said)
	s.replaceCurrent(nil)
	assert.Equal(t, "", <-said)
	s.replaceCurrent(speaker{"two"})
	assert.Equal(t, "two", <-said)
	cancel()
	assert.NoError(t, <-ended)
	assert.Empty(t, said)
}

// speaker is a source with one pod.
type speaker struct{ name string }

// Run implements source.Source.
func (s speaker) Run(ctx context.Context, sink source.Sink) error {
	pod := &v1.Pod{}
	pod.Name = s.name
	sink.Set(source.Snapshot{Pods: []*v1.Pod{pod}})
	<-ctx.Done()
	return nil
}

// hearer is a sink.
type hearer chan string

// Set implements source.Sink.
func (h hearer) Set(s source.Snapshot) {
	var names []string
	for _, pod := range s.Pods {
		names = append(names, pod.Name)
	}
	h <- strings.Join(names, " ")
}

// TestConfig_AllowedUnsafeSysctls: with a CRI runtime, a pod may set the safe sysctls and the sysctls of the flag or of
// the file. With another runtime the flag has no effect, and is refused.
func TestConfig_AllowedUnsafeSysctls(t *testing.T) {
	_, err := parseAgentOptions([]string{"--runtime", "cri", "--allowed-unsafe-sysctls", "net.core.*,vm.swappiness"})
	require.ErrorContains(t, err, `the unsafe sysctl "vm.swappiness" belongs to no known namespace of a pod`)
	_, err = parseAgentOptions([]string{"--runtime", "memory", "--allowed-unsafe-sysctls", "net.core.*"})
	require.ErrorContains(t, err, "--allowed-unsafe-sysctls has no effect without --runtime cri")
	file := kubeletFile(t, "allowedUnsafeSysctls: [\"net.core.*\", kernel.msgmax]\n")
	for flags, want := range map[string]string{"": "SysctlForbidden", "--allowed-unsafe-sysctls net.core.*,kernel.msgmax": "", "--config " + file: ""} {
		o, err := parseAgentOptions(append([]string{"--runtime", "cri", "--manifests", t.TempDir()}, strings.Fields(flags)...))
		require.NoError(t, err)
		require.Empty(t, o.warnings)
		o.stateDir, o.criEndpoint = t.TempDir(), "unix://"+filepath.Join(t.TempDir(), "absent.sock")
		c, lock, _ := o.lockStateDirAndConfigureNode(slog.New(slog.DiscardHandler)) // The runtime is absent.
		require.NoError(t, lock.Close())
		require.NoError(t, c.Runtime.(io.Closer).Close())
		require.Len(t, c.Scheduling.Admit, 1)
		pod := &v1.Pod{Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "net.core.somaxconn"}, {Name: "net.ipv4.tcp_syncookies"}}}}}
		result := c.Scheduling.Admit[0].Admit(syncloop.PodAdmitAttributes{Pod: pod})
		require.Equal(t, []any{want == "", want}, []any{result.Admit, result.Reason}, flags)
	}
}
