package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// TestMain gives the agents of the tests another default socket than an agent of this machine has.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "agent-test-")
	if err == nil {
		err = os.Setenv("RUNTIME_DIRECTORY", dir)
	}
	if err != nil {
		panic(err)
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // Tests in parallel wait most of the time. There is such a flag.
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// output returns the text that was written so far.
type output struct {
	mu  sync.Mutex
	buf strings.Builder
	at  []time.Time // when each line ended
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for range bytes.Count(p, []byte("\n")) {
		o.at = append(o.at, time.Now())
	}
	return o.buf.Write(p)
}

// lasting returns the lines of a table without the heading, and without states that the same pod left in the same
// second: whether they are seen depends on timing.
func (o *output) lasting() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	type moment struct {
		pod string
		at  time.Time
	}
	seen := map[moment]bool{}
	var lines []string
	all := strings.Split(strings.TrimSuffix(o.buf.String(), "\n"), "\n")
	for i, line := range slices.Backward(all[1:]) {
		m := moment{strings.Fields(line)[0], o.at[i+1]}
		if !seen[m] {
			seen[m] = true
			lines = append(lines, line)
		}
	}
	slices.Reverse(lines)
	return lines
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// called returns the output of a run with bad arguments, or for help.
func called(args ...string) (code int, stdout, stderr string) {
	var out, log output
	code = run(args, nil, &out, &log)
	return code, out.String(), log.String()
}

func TestRun_BadArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--no-such-flag"}, "agent: unknown flag --no-such-flag (--help lists the flags)"},
		{[]string{"--no-such-flag", "value"}, "agent: unknown flag --no-such-flag (--help lists the flags)"},
		{[]string{"--resync"}, "agent: flag needs an argument: --resync (--help lists the flags)"},
		{[]string{"stray"}, `agent: "stray" is neither a command nor a flag (--help lists both)`},
		{[]string{"--", "stray"}, `agent: "stray" is neither a command nor a flag (--help lists both)`},
		{[]string{"--events", "some"}, `agent: "some" is neither a command nor a flag (--help lists both)`},
		{[]string{"explain"}, "agent: explain needs the name of one pod: explain [NAMESPACE/]NAME (agent ps lists all)"},
		{[]string{"explain", "a", "b"}, "agent: explain needs the name of one pod: explain [NAMESPACE/]NAME (agent ps lists all)"},
		{[]string{"explain", "web", "--for", "1s"}, "agent: unknown flag --for (--help lists the flags)"},
		{[]string{"--runtime", "docker"}, `agent: --runtime "docker": expected memory or cri`},
		{[]string{"--manifests", ".", "--runtime", "cri", "--cri-endpoint", "tcp://127.0.0.1:1"}, `agent: --cri-endpoint "tcp://127.0.0.1:1": expected a socket, as unix:///run/containerd/containerd.sock`},
		{[]string{"--manifests", ".", "--runtime", "cri", "--cri-endpoint", "containerd.sock"}, `agent: --cri-endpoint "containerd.sock": expected a socket, as unix:///run/containerd/containerd.sock`},
		{[]string{"--manifests", ".", "--runtime", "cri", "--cri-endpoint", "unix://here"}, `agent: --cri-endpoint "unix://here": expected a socket, as unix:///run/containerd/containerd.sock`},
		{[]string{"--manifests", ".", "--runtime", "cri", "--cri-endpoint", ""}, `agent: --cri-endpoint "": expected a socket, as unix:///run/containerd/containerd.sock`},
		{[]string{"--runtime", "cri"}, `agent: --runtime cri needs --manifests PATH: the embedded examples are for the runtime in memory`},
		{[]string{"--cgroup-driver", "cgroup2"}, `agent: --cgroup-driver "cgroup2": expected cgroupfs or systemd`},
		{[]string{"--max-container-restart-period", "0s"}, `agent: --max-container-restart-period "0s": expected a duration above zero, such as 10s or 1m30s`},
		{[]string{"--cri-endpoint", "/run/x.sock", "--runtime", "memory"}, `agent: --cri-endpoint has no effect without --runtime cri`},
		{[]string{"--node-ip", "here"}, `agent: --node-ip "here": expected addresses, as 192.0.2.1,2001:db8::1`},
		{[]string{"--node-ip", "192.0.2.1,"}, `agent: --node-ip "192.0.2.1,": expected addresses, as 192.0.2.1,2001:db8::1`},
		{[]string{"--node-ip", "192.0.2.0/24"}, `agent: --node-ip "192.0.2.0/24": expected addresses, as 192.0.2.1,2001:db8::1`},
		{[]string{"--node-ip", ""}, `agent: --node-ip "": expected addresses, as 192.0.2.1,2001:db8::1`},
		{[]string{"--manifests", ".", "--runtime", "cri", "--state-dir", "main.go/x"}, `agent: --state-dir "main.go/x": not a directory`},
		{[]string{"--on-exit", ""}, `agent: --on-exit "": expected leave or stop`},
		{[]string{"--for", "0s"}, `agent: --for "0s": expected a duration above zero, such as 10s or 1m30s`},
		{[]string{"--for", "99999999h"}, `agent: --for "99999999h": expected a duration above zero, such as 10s or 1m30s`},
		{[]string{"--resync", "-1s"}, `agent: --resync "-1s": expected a duration above zero, such as 10s or 1m30s`},
		{[]string{"--relist", "often"}, `agent: --relist "often": expected a duration above zero, such as 10s or 1m30s`},
		{[]string{"--housekeeping=2"}, `agent: --housekeeping "2": expected a duration above zero, such as 10s or 1m30s`},
		{[]string{"--orphan-grace", "-1s"}, `agent: --orphan-grace "-1s": expected a duration, such as 30s or 2m, or 0 for none`},
		{[]string{"--max-syncs", "-1"}, `agent: --max-syncs "-1": expected a number, or 0 for no bound`},
		{[]string{"--max-syncs", "many"}, `agent: --max-syncs "many": expected a number, or 0 for no bound`},
		{[]string{"--state-dir", ""}, `agent: --state-dir "": expected a directory`},
		{[]string{"--state-dir", "main.go"}, `agent: --state-dir "main.go": is not a directory`},
		{[]string{"--state-dir", "main.go/x"}, `agent: --state-dir "main.go/x": not a directory`},
		{[]string{"--objects", "no/such"}, `agent: --objects "no/such": no such file or directory`},
		{[]string{"--objects", "main.go"}, `agent: --objects "main.go": is not a directory`},
		{[]string{"--capacity", "much"}, `agent: --capacity "much": expected NAME=QUANTITY, separated by commas`},
		{[]string{"--capacity", "cpu=4,cpu=5"}, `agent: --capacity "cpu=4,cpu=5": cpu is given twice`},
		{[]string{"--capacity", "cpu=-1"}, `agent: --capacity "cpu=-1": cpu=-1: expected a quantity, such as 4, 500m or 8Gi`},
		{[]string{"--capacity", "memory=8GB"}, `agent: --capacity "memory=8GB": memory=8GB: expected a quantity, such as 4, 500m or 8Gi`},
		{[]string{"--capacity", "=4"}, `agent: --capacity "=4": "" is not a resource name`},
		{[]string{"--labels", "disk"}, `agent: --labels "disk": expected KEY=VALUE, separated by commas`},
		{[]string{"--labels", "a b=c"}, `agent: --labels "a b=c": "a b" is not a label key`},
		{[]string{"--labels", "a=b=c"}, `agent: --labels "a=b=c": "b=c" is not a label value`},
		{[]string{"--runtime-classes", "kata"}, `agent: --runtime-classes "kata": expected CLASS=HANDLER, separated by commas`},
		{[]string{"--runtime-classes", "Kata=kata"}, `agent: --runtime-classes "Kata=kata": "Kata" is not the name of a runtime class`},
		{[]string{"--runtime-classes", "kata="}, `agent: --runtime-classes "kata=": "" is not the name of a handler`},
		{[]string{"--cluster-dns", "192.0.2.53,dns"}, `agent: --cluster-dns "192.0.2.53,dns": "dns" is not an IP address`},
		{[]string{"--cluster-domain", "a b"}, "agent: --cluster-domain \"a b\": expected a DNS name, such as cluster.local\n" +
			"agent: --cluster-domain has no effect without --cluster-dns"},
		{[]string{"--resolv-conf", "no/such", "--runtime", "cri", "--manifests", "."}, `agent: --resolv-conf "no/such": no such file or directory`},
		{[]string{"--resolv-conf", ".", "--runtime", "cri", "--manifests", "."}, `agent: --resolv-conf ".": not a regular file: a directory`},
		{[]string{"--api-write", "--api-listen", ":1"}, "agent: --api-write has no effect without --write-kubeconfig\nagent: --api-listen has no effect without --write-kubeconfig"},
		{[]string{"--resolv-conf", "main.go"}, `agent: --resolv-conf has no effect without --runtime cri`},
		{[]string{"--max-parallel-pulls", "-1"}, `agent: --max-parallel-pulls "-1": expected a number, or 0 for no bound`},
		{[]string{"--image-gc-high", "101"}, `agent: --image-gc-high "101": expected a percentage from 1 to 100`},
		{[]string{"--image-gc-low", "0"}, `agent: --image-gc-low "0": expected a percentage from 1 to 100`},
		{[]string{"--image-gc-low", "90"}, `agent: --image-gc-low 90: expected at most --image-gc-high, which is 85`},
		{[]string{"--image-gc-high", "20"}, `agent: --image-gc-high 20: expected at least --image-gc-low, which is 80`},
		{[]string{"--image-max-age", "0"}, `agent: --image-max-age "0": expected a duration above zero, such as 10s or 1m30s`},
		{[]string{"--log-max-size", "10MB"}, `agent: --log-max-size "10MB": expected a size, such as 10Mi, or 0 for any size`},
		{[]string{"--log-max-size", "-1"}, `agent: --log-max-size "-1": expected a size, such as 10Mi, or 0 for any size`},
		{[]string{"--log-max-files", "1"}, `agent: --log-max-files "1": expected a number from 2`},
		{[]string{"--node-name", "a_b"}, `agent: --node-name "a_b": expected a DNS name, of letters, digits, dashes and dots`},
		{[]string{"--node-name", ""}, `agent: --node-name "": expected a DNS name, of letters, digits, dashes and dots`},
		{[]string{"--log-level", "loud"}, `agent: --log-level "loud": expected one of debug, info, warn, error`},
		{[]string{"--log-format", "xml"}, `agent: --log-format "xml": expected text or json`},
		{[]string{"--manifests", ""}, `agent: --manifests "": no such file or directory`},
		{[]string{"--manifests", "no/such"}, `agent: --manifests "no/such": no such file or directory`},
		{[]string{"--manifests", "main.go/x"}, `agent: --manifests "main.go/x": not a directory`},
		{[]string{"--manifests", os.DevNull}, `agent: --manifests "/dev/null": is neither a directory nor a file`},
		{[]string{"--listen", "here"}, `agent: --listen "here": listen tcp: address here: missing port in address`},
		{
			[]string{"--for", "x", "--unknown", "--on-exit", "never", "stray", "--max-syncs", "x"},
			`agent: --for "x": expected a duration above zero, such as 10s or 1m30s
agent: unknown flag --unknown (--help lists the flags)
agent: --on-exit "never": expected leave or stop
agent: --max-syncs "x": expected a number, or 0 for no bound
agent: "stray" is neither a command nor a flag (--help lists both)`,
		},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, stdout, stderr := called(c.args...)
			assert.Equal(t, exitUsage, code)
			assert.Equal(t, c.want+"\n", stderr)
			assert.Empty(t, stdout)
		})
	}
}

// If a flag is given twice the last value counts, for lists too.
func TestParse_LastCounts(t *testing.T) {
	o, err := parseAgentOptions([]string{
		"--node-ip", "192.0.2.1,2001:db8::1", "--node-ip", "192.0.2.2", "--labels", "a=1,b=2", "--labels", "b=3",
		"--capacity", "cpu=4,pods=9", "--capacity", "memory=1Gi", "--cluster-dns", "192.0.2.53,192.0.2.54", "--cluster-dns", "192.0.2.55",
		"--resync", "1s", "--resync", "2s",
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"192.0.2.2"}, o.nodeIPs)
	assert.Equal(t, map[string]string{"b": "3"}, o.labels)
	assert.Equal(t, v1.ResourceList{"memory": resource.MustParse("1Gi")}, o.capacity)
	assert.Equal(t, []string{"192.0.2.55"}, o.dns.ClusterDNS)
	assert.Equal(t, 2*time.Second, o.resync)
}

func TestRun_UnreadablePath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "closed")
	require.NoError(t, os.Mkdir(dir, 0))
	if f, err := os.Open(dir); err == nil {
		_ = f.Close()
		t.Skip("nothing is unreadable for root")
	}
	code, _, stderr := called("--manifests", dir)
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, fmt.Sprintf("agent: --manifests %q: permission denied\n", dir), stderr)
}

func TestRun_StateDirCannotBeMade(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink("nowhere/at/all", link))
	for _, args := range [][]string{{}, {"--manifests", ".", "--runtime", "cri", "--cri-endpoint", "/no/such.sock"}} {
		code, stdout, stderr := called(append(args, "--state-dir", link)...)
		assert.Equal(t, exitUsage, code)
		assert.Equal(t, fmt.Sprintf("agent: --state-dir %q: file exists\n", link), stderr)
		assert.Empty(t, stdout)
	}
}

func TestRun_TakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	code, stdout, stderr := called("--listen", l.Addr().String())
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, fmt.Sprintf("agent: --listen %q: listen tcp %[1]s: bind: address already in use\n", l.Addr()), stderr)
	assert.Empty(t, stdout)
}

func TestRun_Help(t *testing.T) {
	for _, arg := range []string{"--help", "-h"} {
		code, stdout, stderr := called("--for", "x", arg)
		assert.Equal(t, exitOK, code)
		assert.Empty(t, stderr)
		assert.Equal(t, agentHelp(), stdout)
	}
	for line := range strings.SplitSeq(agentHelp(), "\n") {
		assert.LessOrEqual(t, len(line), 110, line)
	}
}

// TestReadme_Flags: README.md here lists the flags as the help does.
func TestReadme_Flags(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(readme), "| flag | meaning (default) |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	var o options
	for _, k := range o.allFlags() {
		meaning := strings.NewReplacer("<", "`<", ">", ">`").Replace(k.description)
		meaning = strings.ReplaceAll(meaning, ">`-`<", ">-<")
		for _, other := range k.dashedNames()[1:] {
			meaning += "; also `" + other + "`"
		}
		want = append(want, fmt.Sprintf("| `%s` | %s |", strings.TrimSpace("--"+k.name+" "+strings.ReplaceAll(k.value, "|", `\|`)), meaning))
	}
	assert.Equal(t, want, strings.Split(table, "\n"))
}

// TestReadme_Manifest: the agent reads the manifest in README.md, and each of its fields.
func TestReadme_Manifest(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(readme), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	pods, err := manifest.Decode([]byte(text))
	require.NoError(t, err)
	require.Len(t, pods, 1)
	assert.Equal(t, "/srv/pages", pods[0].Spec.Volumes[0].HostPath.Path)
}

// lines is a writer for tests that wait for a line. Its Write never blocks.
type lines chan string

func newLines() lines { return make(lines, 1000) }

// Write takes whole lines, as the table and the log write them.
func (l lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l <- line
	}
	return len(p), nil
}

// next returns the next line.
func (l lines) next(t *testing.T) string {
	t.Helper()
	late, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case line := <-l:
		return line
	case <-late.Done():
		require.Fail(t, "no more lines")
		return ""
	}
}

// until reads up to a line that has all of these words.
func (l lines) until(t *testing.T, words ...string) {
	t.Helper()
	late, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		select {
		case line := <-l:
			if hasAll(line, words) {
				return
			}
		case <-late.Done():
			require.Fail(t, "no such line", "%q", words)
		}
	}
}

func hasAll(line string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}

// logged returns the lines written so far.
func (l lines) logged() (all []string) {
	for {
		select {
		case line := <-l:
			all = append(all, line)
		default:
			return all
		}
	}
}
