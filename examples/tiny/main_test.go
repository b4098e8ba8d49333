package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestReadme: the program in the README is this one, and as short as promised:
// 25 lines, imports included and blank ones not counted.
func TestReadme(t *testing.T) {
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(program), "\npackage main")
	code = "package main" + code
	assert.Contains(t, string(readme), "```go\n"+code+"```\n")
	lines := 0
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	assert.LessOrEqual(t, lines, 25)
	for line := range strings.Lines(string(readme)) {
		for cell := range strings.SplitSeq(line, "|") {
			assert.False(t, strings.HasPrefix(line, "|") && len(cell) > 122, "a long cell of a table: %s", cell)
		}
	}
	assert.LessOrEqual(t, len(readme), 7000, "the README is read in two minutes")
}

// TestReadme_Harness: the README has the test of this package, and its transcript.
func TestReadme_Harness(t *testing.T) {
	test, err := os.ReadFile("harness_test.go")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "```go\n"+string(test)+"```\n")
	s := nodetest.New(t, nodetest.Config{})
	s.Apply(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox", Command: []string{"sleep", "90"}}}}})
	s.RunUntil(func() bool { return s.Status("job") == "1/1 Running restarts=1" })
	s.Crash()
	s.Start()
	s.Run(30 * time.Second)
	s.Stop()
	assert.Contains(t, string(readme), "```\n"+strings.TrimRight(s.Transcript(), "\n"), "the transcript")
}
