//go:build linux

package e2e_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// A pod comes, is Ready with an address, and goes.
func TestAgent_Life(t *testing.T) {
	t.Parallel()
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		s.writePod("web", `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY}
`)
		s.awaitPod("web", "ready with an address", func(p *v1.Pod) bool { return isReady(p) && p.Status.PodIP != "" })
		s.removePod("web")
	})
}

// stories happen side by side, on one agent.
var stories = map[string]func(*scene){
	"people":                checkCommands,
	"start":                 checkStart,
	"logs":                  checkLogs,
	"stop":                  checkStop,
	"stubborn":              checkKillAfterGrace,
	"stopSignal":            stopSignal,
	"initChain":             initChain,
	"sidecars":              checkSidecars,
	"update":                checkImageChange,
	"livenessExec":          livenessExec,
	"livenessHTTP":          livenessHTTP,
	"livenessTCP":           livenessTCP,
	"readiness":             checkReadiness,
	"startup":               checkStartup,
	"startupKills":          startupKills,
	"hooksExec":             hooksExec,
	"hookOutlastsGrace":     hookOutlastsGrace,
	"hookEndsWithContainer": hookEndsWithContainer,
	"hookFails":             hookFails,
	"hooksHTTP":             hooksHTTP,
	"crashLoop":             crashLoop,
	"never":                 checkNeverRestarts,
	"oom":                   checkOOMKill,
	"oomChild":              oomChild,
	"oomPodLimit":           oomPodLimit,
	"emptyDir":              emptyDir,
	"configs":               checkConfigVolumes,
	"envFile":               envFile,
	"imageVolume":           imageVolume,
	"hostPath":              hostPath,
	"hostPort":              hostPort,
	"hostNetwork":           hostNetwork,
	"names":                 checkNames,
	"resolver":              checkResolver,
	"security":              checkSecurityContext,
	"nonRoot":               nonRoot,
	"groups":                checkGroups,
	"resources":             checkResources,
	"imageAppears":          imageAppears,
	"removedDuringPull":     removedDuringPull,
}

// Everything that a pod may have, on real containers, beside pods of strangers,
// which stay as they are.
func TestStories(t *testing.T) {
	skipUnlessLong(t)
	objects, host := t.TempDir(), filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(host, []byte("nameserver 192.0.2.1\nsearch host.example\noptions ndots:1 rotate\n"), 0o600))
	for name, text := range map[string]string{
		"configmaps/default/settings/colour": "green",
		"configmaps/default/settings/size":   "42",
		"secrets/default/password/word":      "sesame",
	} {
		path := filepath.Join(objects, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		all := newScene(t, c, a)
		strangers := all.createStrangers()
		t.Run("stories", func(t *testing.T) { runStories(t, all) })
		strangers.requireUnharmed()
	}, "--objects", objects, "--resolv-conf", host, "--exec", "true")
}

// runStories runs all stories and returns when all have ended.
func runStories(t *testing.T, all *scene) {
	for _, name := range slices.Sorted(maps.Keys(stories)) {
		story := stories[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := real.Now()
			story(all.withTest(t))
			t.Logf("%s", real.Now().Sub(from).Round(10*time.Millisecond))
		})
	}
}
