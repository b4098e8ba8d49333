package nodetest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
	"github.com/podkeel/podkeel/runtime/memory"
)

// TestAcceptance_TableIsTrue: ACCEPTANCE.md has the lines 1 to 18, and each named test exists in the named package.
func TestAcceptance_TableIsTrue(t *testing.T) {
	text, err := os.ReadFile("ACCEPTANCE.md")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|.*\| (.*) \|$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, 18)
	for i, row := range rows {
		assert.Equal(t, fmt.Sprint(i+1), row[1])
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1)
		assert.Equal(t, strings.HasPrefix(row[2], "not here"), len(names) == 0, "line %s", row[1])
		for _, name := range names {
			assert.True(t, testExists(t, name[1]), "line %s: there is no test %s", row[1], name[1])
		}
	}
}

// testExists reports whether a package has a test. The package of a name without a path is this one.
func testExists(t *testing.T, name string) bool {
	t.Helper()
	dir := "syncloop/nodetest"
	if at := strings.LastIndex(name, "."); at >= 0 {
		dir, name = name[:at], name[at+1:]
	}
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}

// TestAcceptance_RZ42_CrashLoopOfOOM: a container is killed again and again because its memory grows above its limit. A
// resize reaches the container and the cgroup of its pod before the next start, and the container lives.
func TestAcceptance_RZ42_CrashLoopOfOOM(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	b := cgroupNode(t, dir)
	grows := func(limit string, generation int64) *v1.Pod {
		p := limitedPod("web", "1", limit)
		p.Generation = generation
		p.Annotations[memory.AnnotationPrefix+"c"] = "run=forever memory=50Mi memory@5s=300Mi"
		return p
	}
	b.Apply(grows("200Mi", 1))
	b.Run(2 * time.Minute)
	status := b.Pod("web").Status.ContainerStatuses[0]
	require.NotNil(t, status.LastTerminationState.Terminated)
	assert.Equal(t, "OOMKilled", status.LastTerminationState.Terminated.Reason)
	before := status.RestartCount
	assert.Greater(t, before, int32(2))
	b.Apply(grows("400Mi", 2))
	b.Run(10 * time.Minute)
	status = b.Pod("web").Status.ContainerStatuses[0]
	assert.NotNil(t, status.State.Running)
	assert.LessOrEqual(t, status.RestartCount, before+1)
	assert.Equal(t, "419430400", cgroupFile(dir, "memory/podkeel-test/burstable/podweb/memory.limit_in_bytes"))
	b.Stop()
}
