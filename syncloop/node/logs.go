package node

import (
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// buildLogs: who keeps logs from filling the disk. Nobody does where logs are no files
// that we know, or the runtime cannot be told that one was put away.
func (n *Node) buildLogs() (err error) {
	policy := policy.Logs{MaxBytes: n.config.LogMaxBytes, MaxFiles: n.config.LogMaxFiles}
	reopener := feature[runtime.LogReopener](n)
	if n.logs == nil || reopener == nil || policy.Never() {
		return nil
	}
	n.rotator, err = gc.NewLogs(gc.LogsConfig{
		Store: n.logs, Runtime: reopener, Seen: n.pleg, Policy: policy, Clock: n.config.Clock, Log: n.config.Log,
		Panicked: n.guard.Note,
	})
	return err
}
