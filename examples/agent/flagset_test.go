package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// TestParse_KubeletNames: the kubelet's names of flags work.
func TestParse_KubeletNames(t *testing.T) {
	dir := t.TempDir()
	o, err := parseAgentOptions(strings.Fields("--pod-manifest-path " + dir + " --container-runtime-endpoint unix:///run/x.sock --hostname-override Edge-1" +
		" --root-dir " + dir + " --address 127.0.0.2 --port 10255 --sync-frequency 2m --max-pods 7 --node-labels a=b" +
		" --register-with-taints k=v:NoSchedule,x:NoExecute --file-check-frequency 5s" +
		" --image-gc-high-threshold 70 --image-gc-low-threshold 60 --minimum-image-ttl-duration 3m" +
		" --container-log-max-size 1Mi --container-log-max-files 3"))
	require.NoError(t, err)
	assert.Equal(t, dir, o.manifests)
	assert.Equal(t, "cri", o.runtime, "an endpoint says so")
	assert.Equal(t, "unix:///run/x.sock", o.criEndpoint)
	assert.Equal(t, "edge-1", o.nodeName)
	assert.Equal(t, dir, o.stateDir)
	assert.Equal(t, "127.0.0.2:10255", o.listen)
	assert.Equal(t, 2*time.Minute, o.resync)
	assert.Equal(t, 7, o.maxPods)
	assert.Equal(t, map[string]string{"a": "b"}, o.labels)
	assert.Equal(t, []v1.Taint{{Key: "k", Value: "v", Effect: v1.TaintEffectNoSchedule}, {Key: "x", Effect: v1.TaintEffectNoExecute}}, o.taints)
	assert.Equal(t, 5*time.Second, o.filePeriod)
	assert.Equal(t, []int{70, 60}, []int{o.imageGC.HighThresholdPercent, o.imageGC.LowThresholdPercent})
	assert.Equal(t, 3*time.Minute, o.imageGC.MinAge)
	assert.Equal(t, int64(1<<20), o.logMaxBytes)
	assert.Equal(t, 3, o.logMaxFiles)
}

// TestParse_Spelling: one dash or two, a value after = or as the next word, booleans alone.
func TestParse_Spelling(t *testing.T) {
	for args, want := range map[string]bool{
		"--exec": true, "-exec": true, "--exec=true": true, "--exec true": true,
		"--exec=false": false, "--exec false": false, "--exec --exec=false": false,
	} {
		o, err := parseAgentOptions(strings.Fields(args))
		require.NoError(t, err, args)
		assert.Equal(t, want, o.exec, args)
	}
	o, err := parseAgentOptions(strings.Fields("-resync 2s --events=false --listen= -max-syncs=3 --exec --for 1m"))
	require.NoError(t, err)
	assert.Equal(t, []any{2 * time.Second, false, "", 3, true, time.Minute}, []any{o.resync, o.events, o.listen, o.maxSyncs, o.exec, o.runFor})
}

// TestRun_Suggestions: a wrong word exits with code 2, and the error suggests the right one.
func TestRun_Suggestions(t *testing.T) {
	for args, want := range map[string]string{
		"explian web":                    `agent: "explian" is neither a command nor a flag; did you mean explain? (--help lists both)`,
		"get pods":                       `agent: "get" is a command of kubectl; here it is ps (--help lists all commands)`,
		"describe pod web":               `agent: "describe" is a command of kubectl; here it is explain (--help lists all commands)`,
		"apply web.yaml":                 `agent: "apply" is a command of kubectl; here it is run (--help lists all commands)`,
		"create web.yaml":                `agent: "create" is a command of kubectl; here it is run (--help lists all commands)`,
		"--server x ps":                  `agent: the command comes before its flags: agent ps ... (agent ps --help)`,
		"delete pod web":                 `agent: "delete" is a command of kubectl, which works with an agent that has --write-kubeconfig (--help lists all commands)`,
		"--manifest x":                   `agent: unknown flag --manifest; did you mean --manifests? (--help lists the flags)`,
		"--pod-manifest-pat x":           `agent: unknown flag --pod-manifest-pat; did you mean --pod-manifest-path? (--help lists the flags)`,
		"--exec=maybe":                   `agent: --exec "maybe": expected true or false`,
		"--max-pods 0":                   `agent: --max-pods "0": expected a number from 1`,
		"--port 0":                       `agent: --port "0": expected a port from 1 to 65535`,
		"--address here":                 `agent: --address "here": expected an address, as 127.0.0.1`,
		"--taints x:Never":               `agent: --taints "x:Never": expected taints, as dedicated=gpu:NoSchedule`,
		"---exec":                        `agent: bad flag "---exec" (--help lists the flags)`,
		"--max-pods 5 --capacity pods=6": `agent: --max-pods 5: --capacity says pods=6`,
		"exec -it web -- sh":             `agent: unknown flag -it: commands of the agent have no input and no terminal; kubectl exec has, with --write-kubeconfig`,
		"logs web --folow":               `agent: unknown flag --folow; did you mean --follow? (--help lists the flags)`,
		"logs web --tail x":              `agent: --tail "x": expected a number from 1`,
		"logs web --tail=0":              `agent: --tail "0": expected a number from 1`,
		"logs web --since x":             `agent: --since "x": expected a duration, such as 10m, or a time, such as 2006-01-02T15:04:05Z`,
		"logs web --since=-1m":           `agent: --since "-1m": expected a duration, such as 10m, or a time, such as 2006-01-02T15:04:05Z`,
		"logs web --follow=maybe":        `agent: --follow "maybe": expected true or false`,
		"logs web -p=1":                  `agent: -p "1": expected true or false`,
		"ps -o yaml":                     `agent: -o "yaml": expected json`,
		"version now":                    `agent: version takes no "now" (agent version --help)`,
		"run":                            `agent: run needs the name of a file, or - for standard input (agent run --help)`,
		"run x.yaml --manifests y":       `agent: unknown flag --manifests (--help lists the flags)`,
		"run no/such.yaml":               `agent: no/such.yaml: no such file or directory`,
		"run .":                          `agent: .: not a regular file: a directory`,
	} {
		code, stdout, stderr := called(strings.Fields(args)...)
		assert.Equal(t, exitUsage, code, args)
		assert.Empty(t, stdout)
		first, _, _ := strings.Cut(stderr, "\n")
		assert.Equal(t, want, first, args)
	}
}

// TestHelp_Commands: each command has a help.
func TestHelp_Commands(t *testing.T) {
	for _, name := range commandNames() {
		for _, args := range [][]string{{name, "--help"}, {name, "-h"}, {"help", name}} {
			code, stdout, stderr := called(args...)
			assert.Equal(t, exitOK, code, name)
			assert.Empty(t, stderr)
			assert.True(t, strings.HasPrefix(stdout, "Usage: agent "+name), stdout)
			for line := range strings.SplitSeq(stdout, "\n") {
				assert.LessOrEqual(t, len(line), 110, line)
			}
		}
	}
	_, stdout, _ := called("logs", "--help")
	assert.Equal(t, `Usage: agent logs [NAMESPACE/]NAME [flags]

Print the log of a container of a pod.

Flags, with their defaults in parentheses:

  --server ADDR            address of the agent: HOST:PORT or a socket (the socket of this user's agent)
  --container NAME         the container (the same default as kubectl)
                           also -c
  --follow                 wait for new output (false)
                           also -f
  --tail N                 print only the last N lines (all)
  --since TIME             print only lines newer than a duration, such as 10m, or a time
  --previous               print the log of the container before its last restart (false)
                           also -p
  --raw                    do not escape control characters on a terminal (false)
`, stdout)
}

// TestHelp_Word: help without a command is the help of the agent.
func TestHelp_Word(t *testing.T) {
	code, stdout, stderr := called("help")
	assert.Equal(t, exitOK, code)
	assert.Empty(t, stderr)
	assert.Equal(t, agentHelp(), stdout)
}
