package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/syncloop/node"
)

func TestRun_Arguments(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, os.WriteFile(kubeconfig, []byte("{"), 0o600))
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{nil, 0, "--kubeconfig node.kubeconfig", ""},
		{[]string{"--help"}, 0, "-register-with-taints", ""},
		{[]string{"--no-such-flag"}, 2, "", "cluster: flag provided but not defined: -no-such-flag\n"},
		{[]string{"--port", "1"}, 2, "", "cluster: --kubeconfig is missing\n"},
		{[]string{"--kubeconfig", "x", "y"}, 2, "", "cluster: unexpected argument \"y\"\n"},
		{[]string{"--kubeconfig", "x", "--runtime", "y"}, 2, "", "cluster: --runtime \"y\": expected memory or cri\n"},
		{[]string{"--node-ip", "y"}, 2, "", "cluster: invalid value \"y\" for flag -node-ip: expected addresses, as 192.0.2.1,2001:db8::1\n"},
		{[]string{"--node-labels", "y"}, 2, "", "cluster: invalid value \"y\" for flag -node-labels: expected labels, as disk=ssd,zone=a\n"},
		{[]string{"--register-with-taints", "a=b:Never"}, 2, "", "cluster: invalid value \"a=b:Never\" for flag -register-with-taints: expected taints, as dedicated=gpu:NoSchedule\n"},
		{[]string{"--kubeconfig", "/no/such/file", "--hostname-override", "n"}, 1, "", "cluster: --kubeconfig: stat /no/such/file: no such file or directory\n"},
	} {
		var out, logs bytes.Buffer
		assert.Equal(t, c.code, run(t.Context(), c.args, &out, &logs), "%v", c.args)
		assert.Contains(t, out.String(), c.out, "%v", c.args)
		assert.Equal(t, c.err, logs.String(), "%v", c.args)
	}
}

// TestLine: a line is printed once, and again when a pod of the name has another UID.
func TestLine(t *testing.T) {
	pod := func(uid types.UID, phase v1.PodPhase) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: uid, Namespace: "default", Name: "web"},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}, Status: v1.PodStatus{Phase: phase},
		}
	}
	printed, lines := map[types.UID]string{}, []string(nil)
	for _, state := range []node.PodState{
		{Pod: pod("a", v1.PodPending)}, {Pod: pod("a", v1.PodPending)}, {Pod: pod("a", v1.PodPending), Terminating: true},
		{Pod: pod("a", v1.PodFailed), Gone: true}, {Pod: pod("b", v1.PodPending)},
	} {
		if text, news := line(printed, state); news {
			lines = append(lines, text)
		}
	}
	assert.Equal(t, []string{"default/web\t0/1 Pending", "default/web\t0/1 Terminating", "default/web\tdeleted", "default/web\t0/1 Pending"}, lines)
	assert.Len(t, printed, 1)
}

// TestConfig_ClaimedRoot: of two programs with one directory the second is refused, and
// touches nothing of it.
func TestConfig_ClaimedRoot(t *testing.T) {
	root := t.TempDir()
	claimed, err := osfile.Claim(root)
	require.NoError(t, err)
	defer claimed.Close()
	o, err := parse([]string{"--kubeconfig", "x", "--runtime", "cri", "--root-dir", root}, io.Discard)
	require.NoError(t, err)
	_, err = o.config(nil, nil)
	assert.EqualError(t, err, "--root-dir: another agent uses it")
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	assert.Empty(t, entries)
}
