package environ_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
)

// ofFile resolves a variable A of the key K of a file.
func ofFile(text string) (value string, err error) {
	need := environ.FileRef{Volume: "v", Path: "f"}
	c := &v1.Container{Name: "c", Env: []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "v", Path: "f", Key: "K"}}}}}
	env, _, err := environ.Resolve(environ.Input{Pod: &v1.Pod{}, Container: c, Files: map[environ.FileRef]environ.File{need: {Data: []byte(text)}}})
	value, _ = env.Lookup("A")
	return value, err
}

// A line has at most as many bytes as in the kubelet; a value of several lines may have more.
func TestFile_F14_LongLines(t *testing.T) {
	longest := strings.Repeat("x", bufio.MaxScanTokenSize-len("K=''")-1)
	value, err := ofFile("K='" + longest + "'\n")
	require.NoError(t, err)
	assert.Equal(t, longest, value)
	_, err = ofFile("K='" + longest + "x'\n")
	assert.EqualError(t, err, "container c: variable A: the file f of volume v: invalid: line 1: it has 65536 bytes or more")
	_, err = ofFile("K='\n" + longest + "xxxxxx\n'")
	assert.EqualError(t, err, "container c: variable A: the file f of volume v: invalid: line 2: it has 65536 bytes or more")
	lines := strings.Repeat(longest+"\n", 4)
	value, err = ofFile("K='" + lines + "'")
	require.NoError(t, err)
	assert.Equal(t, lines, value)
	_, err = ofFile("K='a\x00b'")
	assert.EqualError(t, err, "container c: variable A: invalid: it has a NUL byte")
}

// A variable has the value that a POSIX shell would assign.
func TestFile_AsAShell(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	for _, text := range []string{
		"K='a'", " \tK='a' # b\nK2='c'", "# 'x'\n\nJ='K='\nK='a\n# b\n\n'\n", "K='$HOME ${J} `x` \\n \"'\n", "K='==' #", "J=''\nK='\\\\'",
	} {
		value, err := ofFile(text)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		out, err := exec.Command(shell, "-c", ". "+file+"; printf %s \"$K\"").Output()
		require.NoError(t, err)
		assert.Equal(t, string(out), value, "%q", text)
	}
}
