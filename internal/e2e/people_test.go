//go:build linux

package e2e_test

import (
	"os/exec"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/e2e"
)

// The verbs of the agent show people what its pods are and print, and run
// commands in them.
func checkCommands(s *scene) {
	s.writePod("people", `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'echo printed; trap "exit 0" TERM; sleep 100000 & wait']}
`)
	s.awaitReady("people")
	const pod = "people-" + e2e.NodeName
	s.waitFor("its line is read", soon, func() bool {
		out, err := s.agent.Verb("logs", pod)
		return err == nil && out == "printed\n"
	})
	out, err := s.agent.Verb("ps")
	require.NoError(s, err, out)
	assert.Contains(s, out, pod)
	out, err = s.agent.Verb("explain", pod)
	require.NoError(s, err, out)
	assert.Contains(s, out, "StartContainer web")
	out, err = s.agent.Verb("exec", pod, "--", "sh", "-c", "hostname; exit 3")
	var exit *exec.ExitError
	require.ErrorAs(s, err, &exit)
	assert.Equal(s, 3, exit.ExitCode())
	assert.Contains(s, out, pod+"\n")
	s.removePod("people")
}
