package check

import (
	"context"
	"fmt"
	"strings"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime"
)

// exec runs a command in the container: exit code 0 is a success, another a
// failure (PR-21). That it cannot be run is an error. Ending it at the timeout
// is the runtime's part of the contract of runtime.Execer.
func (c *Checker) exec(ctx context.Context, req prober.Request) (prober.Outcome, string, error) {
	if c.cfg.Exec == nil {
		return 0, "", ErrNoExec
	}
	result, err := c.cfg.Exec.Exec(ctx, runtime.ExecRequest{
		ContainerID: BareID(req.ContainerID),
		Command:     req.Handler.Exec.Command,
		OutputLimit: outputLimit,
	})
	if err != nil {
		return 0, "", fmt.Errorf("check: exec: %w", err)
	}
	output := result.Output
	if len(output) > outputLimit { // The runtime may not honour the limit (F96).
		output = output[:outputLimit]
	}
	text := strings.TrimSpace(string(output))
	if result.ExitCode == 0 {
		return prober.Passed, text, nil
	}
	return prober.Failed, strings.TrimSpace(fmt.Sprintf("exit code %d: %s", result.ExitCode, text)), nil
}

// BareID is the runtime's ID of a container, without the runtime's name that
// statuses put before it.
func BareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}
