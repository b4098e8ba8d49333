package runtimetest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	rt "github.com/podkeel/podkeel/runtime"
)

// execThrough changes the results of commands.
func execThrough(r *tampered, f func(rt.ExecRequest, *rt.ExecResult) error) {
	r.exec = func(ctx context.Context, req rt.ExecRequest) (rt.ExecResult, error) {
		whole := req
		whole.OutputLimit = 0
		res, err := r.m.Exec(ctx, whole)
		if err == nil {
			err = f(req, &res)
		}
		if limit := req.OutputLimit; limit > 0 && len(res.Output) > limit {
			res.Output = res.Output[:limit]
		}
		return res, err
	}
}

// logThrough changes the result of ReadLog without Follow.
func logThrough(r *tampered, f func(req *rt.ReadLogRequest, text func() []string) []string) {
	r.readLog = func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
		if req.Follow {
			return r.m.ReadLog(ctx, req, w)
		}
		var err error
		lines := f(&req, func() []string {
			var out bytes.Buffer
			err = r.m.ReadLog(ctx, req, &out)
			return slices.Collect(strings.Lines(out.String()))
		})
		_, _ = io.WriteString(w, strings.Join(lines, ""))
		return err
	}
}

// followThrough changes the result of ReadLog with Follow.
func followThrough(r *tampered, f func(context.Context, rt.ReadLogRequest, io.Writer) error) {
	r.readLog = func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
		if !req.Follow {
			return r.m.ReadLog(ctx, req, w)
		}
		return f(ctx, req, w)
	}
}

// statsThrough changes the figures of each container.
func statsThrough(r *tampered, f func(*rt.ContainerStats)) {
	r.podStats = func(ctx context.Context, uid types.UID) (rt.PodStats, error) {
		stats, err := r.m.PodStats(ctx, uid)
		for i := range stats.Containers {
			f(&stats.Containers[i])
		}
		return stats, err
	}
}

func answerThrough(r *tampered, f func(rt.RunHandlerRequest, rt.RunHandlerResult, error) (rt.RunHandlerResult, error)) {
	r.answer = func(ctx context.Context, req rt.RunHandlerRequest) (rt.RunHandlerResult, error) {
		res, err := r.m.RunHandler(ctx, req)
		return f(req, res, err)
	}
}

// deaf is a context that does not end with its parent, but in a minute, so
// that the test ends.
func deaf(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
}

var brokenFeatures = []broken{
	{"to the features an unknown container is some error", []string{"exec/unknown", "log/unknown", "update/unknown", "answer/unknown"}, func(r *tampered) {
		r.exec = func(ctx context.Context, req rt.ExecRequest) (rt.ExecResult, error) {
			res, err := r.m.Exec(ctx, req)
			return res, instead(err, rt.ErrNotFound, errOther)
		}
		r.readLog = func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
			return instead(r.m.ReadLog(ctx, req, w), rt.ErrNotFound, errOther)
		}
		r.updateContainer = func(ctx context.Context, req rt.UpdateContainerRequest) error {
			return instead(r.m.UpdateContainer(ctx, req), rt.ErrNotFound, errOther)
		}
		answerThrough(r, func(_ rt.RunHandlerRequest, res rt.RunHandlerResult, err error) (rt.RunHandlerResult, error) {
			return res, instead(err, rt.ErrNotFound, errOther)
		})
	}},

	// Commands.
	{"a command that fails is an error", []string{"exec/exit", "exec/output", "exec/limit"}, func(r *tampered) {
		execThrough(r, func(_ rt.ExecRequest, res *rt.ExecResult) error {
			if res.ExitCode != 0 {
				return errOther
			}
			return nil
		})
	}},
	{"the code of a command gets lost", []string{"exec/exit", "exec/output", "exec/limit"}, func(r *tampered) {
		execThrough(r, func(_ rt.ExecRequest, res *rt.ExecResult) error { res.ExitCode = 0; return nil })
	}},
	{"a command ends its container", []string{"exec/exit"}, func(r *tampered) {
		execThrough(r, func(req rt.ExecRequest, _ *rt.ExecResult) error { return r.m.ExitContainer(req.ContainerID, 0) })
	}},
	{"a command that is given up ends its container", []string{"exec/context"}, func(r *tampered) {
		r.exec = func(ctx context.Context, req rt.ExecRequest) (rt.ExecResult, error) {
			res, err := r.m.Exec(ctx, req)
			if errors.Is(err, context.DeadlineExceeded) {
				_ = r.m.ExitContainer(req.ContainerID, 0)
			}
			return res, err
		}
	}},
	{"one stream of a command gets lost", []string{"exec/output"}, func(r *tampered) {
		execThrough(r, func(_ rt.ExecRequest, res *rt.ExecResult) error {
			res.Output = bytes.ReplaceAll(res.Output, []byte("two\n"), nil)
			return nil
		})
	}},
	{"one stream of a command comes after the other", []string{"exec/output"}, func(r *tampered) {
		execThrough(r, func(_ rt.ExecRequest, res *rt.ExecResult) error {
			res.Output = bytes.ReplaceAll(res.Output, []byte("two\nthree\n"), []byte("three\ntwo\n"))
			return nil
		})
	}},
	{"output has no limit", []string{"exec/limit"}, func(r *tampered) {
		r.exec = func(ctx context.Context, req rt.ExecRequest) (rt.ExecResult, error) {
			req.OutputLimit = 0
			return r.m.Exec(ctx, req)
		}
	}},
	{"the last bytes of output are kept", []string{"exec/limit"}, func(r *tampered) {
		execThrough(r, func(req rt.ExecRequest, res *rt.ExecResult) error {
			if limit := req.OutputLimit; limit > 0 {
				res.Output = res.Output[len(res.Output)-limit:]
			}
			return nil
		})
	}},
	{"a command that prints too much is killed", []string{"exec/limit"}, func(r *tampered) {
		execThrough(r, func(req rt.ExecRequest, res *rt.ExecResult) error {
			if limit := req.OutputLimit; limit > 0 && len(res.Output) > limit {
				res.ExitCode = 137
			}
			return nil
		})
	}},
	{"Exec ignores its context", []string{"exec/context"}, func(r *tampered) {
		r.exec = func(ctx context.Context, req rt.ExecRequest) (rt.ExecResult, error) {
			return r.m.Exec(context.WithoutCancel(ctx), req)
		}
	}},
	{"a command that was given up is a result", []string{"exec/context"}, func(r *tampered) {
		r.exec = func(ctx context.Context, req rt.ExecRequest) (rt.ExecResult, error) {
			res, err := r.m.Exec(ctx, req)
			return res, instead(err, context.DeadlineExceeded, nil)
		}
	}},
	{"a command runs in what does not", []string{"exec/not-running"}, func(r *tampered) {
		r.exec = func(ctx context.Context, req rt.ExecRequest) (rt.ExecResult, error) {
			res, err := r.m.Exec(ctx, req)
			return res, instead(err, rt.ErrWrongState, nil)
		}
	}},

	// Logs.
	{"the log of an exited container is empty", []string{"log/order", "log/tail", "log/since", "log/timestamps", "log/reopen"}, func(r *tampered) {
		logThrough(r, func(_ *rt.ReadLogRequest, text func() []string) []string { return text()[:0] })
	}},
	{"a log can be read once", []string{"log/order", "log/tail"}, func(r *tampered) {
		read := map[string]bool{}
		logThrough(r, func(req *rt.ReadLogRequest, text func() []string) []string {
			r.mu.Lock()
			defer r.mu.Unlock()
			if read[req.ContainerID] {
				return nil
			}
			read[req.ContainerID] = true
			return text()
		})
	}},
	{"a log is newest first", []string{"log/order", "log/tail", "log/since", "log/timestamps", "log/reopen"}, func(r *tampered) {
		logThrough(r, func(_ *rt.ReadLogRequest, text func() []string) []string {
			lines := text()
			slices.Reverse(lines)
			return lines
		})
	}},
	{"the tail of a log is its head", []string{"log/tail"}, func(r *tampered) {
		logThrough(r, func(req *rt.ReadLogRequest, text func() []string) []string {
			tail := req.Tail
			req.Tail = 0
			lines := text()
			if tail > 0 && tail < len(lines) {
				lines = lines[:tail]
			}
			return lines
		})
	}},
	{"a log has no tail", []string{"log/tail"}, func(r *tampered) {
		logThrough(r, func(req *rt.ReadLogRequest, text func() []string) []string { req.Tail = 0; return text() })
	}},
	{"a log has no timestamps", []string{"log/timestamps"}, func(r *tampered) {
		logThrough(r, func(req *rt.ReadLogRequest, text func() []string) []string { req.Timestamps = false; return text() })
	}},
	{"a log is always read from its beginning", []string{"log/since"}, func(r *tampered) {
		logThrough(r, func(req *rt.ReadLogRequest, text func() []string) []string { req.Since = time.Time{}; return text() })
	}},
	{"a log since any time is empty", []string{"log/since"}, func(r *tampered) {
		logThrough(r, func(req *rt.ReadLogRequest, text func() []string) []string {
			if !req.Since.IsZero() {
				return nil
			}
			return text()
		})
	}},
	{"who follows a log gets it at the end", []string{"log/follow", "log/reopen"}, func(r *tampered) {
		followThrough(r, func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
			var out bytes.Buffer
			err := r.m.ReadLog(ctx, req, &out)
			_, _ = out.WriteTo(w)
			return err
		})
	}},
	{"a follower misses the lines from before the call", []string{"log/follow", "log/reopen"}, func(r *tampered) {
		followThrough(r, func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
			req.Since = time.Now().Add(1)
			return r.m.ReadLog(ctx, req, w)
		})
	}},
	{"who follows a log follows for ever", []string{"log/follow", "log/reopen"}, func(r *tampered) {
		followThrough(r, func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
			if err := r.m.ReadLog(ctx, req, w); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		})
	}},
	{"who follows a log leaves after the first line", []string{"log/follow", "log/follow-context", "log/reopen"}, func(r *tampered) {
		followThrough(r, func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
			req.Follow = false
			return r.m.ReadLog(ctx, req, w)
		})
	}},
	{"the end of a log that is followed is an error", []string{"log/follow"}, func(r *tampered) {
		followThrough(r, func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
			if err := r.m.ReadLog(ctx, req, w); err != nil {
				return err
			}
			return errOther
		})
	}},
	{"who follows a log ignores his context", []string{"log/follow-context"}, func(r *tampered) {
		followThrough(r, func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
			ctx, cancel := deaf(ctx)
			defer cancel()
			return r.m.ReadLog(ctx, req, w)
		})
	}},
	{"who leaves a log ends the container", []string{"log/follow-context"}, func(r *tampered) {
		followThrough(r, func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
			err := r.m.ReadLog(ctx, req, w)
			_ = r.m.ExitContainer(req.ContainerID, 0)
			return err
		})
	}},
	{"the log of an unknown container can be reopened", []string{"log/reopen-unknown"}, func(r *tampered) {
		reopen := r.reopenLog
		r.reopenLog = func(ctx context.Context, id string) error { return instead(reopen(ctx, id), rt.ErrNotFound, nil) }
	}},
	{"the log of a container that has ended can be reopened", []string{"log/reopen"}, func(r *tampered) {
		reopen := r.reopenLog
		r.reopenLog = func(ctx context.Context, id string) error { return instead(reopen(ctx, id), rt.ErrWrongState, nil) }
	}},
	{"a log that is reopened starts empty", []string{"log/reopen"}, func(r *tampered) {
		reopen, reopened := r.reopenLog, map[string]bool{}
		r.reopenLog = func(ctx context.Context, id string) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			reopened[id] = true
			return reopen(ctx, id)
		}
		logThrough(r, func(req *rt.ReadLogRequest, text func() []string) []string {
			r.mu.Lock()
			defer r.mu.Unlock()
			if lines := text(); !reopened[req.ContainerID] || len(lines) == 0 {
				return lines
			} else {
				return lines[1:]
			}
		})
	}},
	{"the log of an unknown container is awaited", []string{"log/unknown"}, func(r *tampered) {
		followThrough(r, func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
			err := r.m.ReadLog(ctx, req, w)
			if errors.Is(err, rt.ErrNotFound) {
				ctx, cancel := deaf(ctx)
				defer cancel()
				<-ctx.Done()
				return ctx.Err()
			}
			return err
		})
	}},

	// The user of containers.
	{"a record says that the container runs as root", []string{"container/user"}, func(r *tampered) {
		userThrough(r, func(_ rt.State, u *rt.LinuxContainerUser) *rt.LinuxContainerUser {
			return &rt.LinuxContainerUser{GID: u.GID, SupplementalGroups: u.SupplementalGroups}
		})
	}},
	{"a record has the group 0", []string{"container/user"}, func(r *tampered) {
		userThrough(r, func(_ rt.State, u *rt.LinuxContainerUser) *rt.LinuxContainerUser {
			return &rt.LinuxContainerUser{UID: u.UID, SupplementalGroups: u.SupplementalGroups}
		})
	}},
	{"a record lacks a supplemental group", []string{"container/user"}, func(r *tampered) {
		userThrough(r, func(_ rt.State, u *rt.LinuxContainerUser) *rt.LinuxContainerUser {
			return &rt.LinuxContainerUser{UID: u.UID, GID: u.GID, SupplementalGroups: u.SupplementalGroups[:2]}
		})
	}},
	{"the record of a running container has no user", []string{"container/user"}, func(r *tampered) {
		userThrough(r, func(state rt.State, u *rt.LinuxContainerUser) *rt.LinuxContainerUser {
			if state == rt.StateRunning {
				return nil
			}
			return u
		})
	}},
	{"the record of an exited container has no user", []string{"container/user"}, func(r *tampered) {
		userThrough(r, func(state rt.State, u *rt.LinuxContainerUser) *rt.LinuxContainerUser {
			if state == rt.StateExited {
				return nil
			}
			return u
		})
	}},

	// Images that are mounted.
	{"a record forgets the images that are mounted", []string{"image/mounted"}, func(r *tampered) {
		r.podStatus = func(ctx context.Context, uid types.UID) (*rt.PodStatus, error) {
			status, err := r.m.PodStatus(ctx, uid)
			if err != nil || len(status.Containers) == 0 || status.Containers[0].MountedImages == nil {
				return status, err
			}
			other := *status
			other.Containers = slices.Clone(status.Containers)
			other.Containers[0].MountedImages = nil
			return &other, nil
		}
	}},
	{"images are mounted although they cannot be", []string{"image/mounted", "image/mounted-missing"}, func(r *tampered) {
		r.features = func() rt.Features {
			f := r.roles()
			f.ImageMounts = rt.ImageMountsNone
			return f
		}
	}},
	{"a role is not reported", []string{"features/roles"}, func(r *tampered) {
		r.features = func() rt.Features {
			f := r.roles()
			f.StatsReader = nil
			return f
		}
	}},
	{"any image is mounted", []string{"image/mounted-missing"}, func(r *tampered) {
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			if len(req.Mounts) > 0 && req.Mounts[0].Image == "nowhere.invalid/none" {
				req.Mounts = nil
			}
			return r.m.CreateContainer(ctx, req)
		}
	}},

	// Images in use.
	{"a container that has exited uses no image", []string{"disk/used"}, func(r *tampered) {
		r.listUsedImages = func(ctx context.Context) ([]string, error) { return r.usedBy(ctx, rt.StateRunning) }
	}},

	// Figures and resources.
	{"what does not run has figures", []string{"stats/running", "stats/none"}, func(r *tampered) {
		r.podStats = func(ctx context.Context, uid types.UID) (rt.PodStats, error) {
			var stats rt.PodStats
			for _, c := range r.m.SnapshotPod(uid).Containers {
				stats.Containers = append(stats.Containers, rt.ContainerStats{ContainerID: c.ID, Name: c.Name})
			}
			return stats, ctx.Err()
		}
	}},
	{"every pod has the figures of all", []string{"stats/running"}, func(r *tampered) {
		r.podStats = func(ctx context.Context, _ types.UID) (rt.PodStats, error) {
			var stats rt.PodStats
			for _, p := range r.m.Snapshot() {
				some, err := r.m.PodStats(ctx, p.UID)
				if err != nil {
					return stats, err
				}
				stats.Containers = append(stats.Containers, some.Containers...)
			}
			return stats, nil
		}
	}},
	{"the disk is unreadable", []string{"disk/usage", "disk/pull"}, func(r *tampered) {
		r.imageFilesystem = func(context.Context) (rt.FilesystemUsage, error) { return rt.FilesystemUsage{}, rt.ErrUnsupported }
	}},
	{"the capacity of the disk is its free space", []string{"disk/usage"}, func(r *tampered) {
		r.imageFilesystem = func(context.Context) (rt.FilesystemUsage, error) {
			return rt.FilesystemUsage{CapacityBytes: 1 << 30, UsedBytes: 2 << 30}, nil
		}
	}},
	{"the disk shrinks as it fills", []string{"disk/usage"}, func(r *tampered) {
		left := uint64(1 << 40)
		r.imageFilesystem = func(context.Context) (rt.FilesystemUsage, error) {
			left--
			return rt.FilesystemUsage{CapacityBytes: left, UsedBytes: 1 << 30}, nil
		}
	}},
	{"the disk of the images is empty", []string{"disk/pull"}, func(r *tampered) {
		r.imageFilesystem = func(context.Context) (rt.FilesystemUsage, error) {
			return rt.FilesystemUsage{CapacityBytes: 1 << 40}, nil
		}
	}},
	{"a pod without figures is an error", []string{"stats/none"}, func(r *tampered) {
		r.podStats = func(ctx context.Context, uid types.UID) (rt.PodStats, error) {
			stats, err := r.m.PodStats(ctx, uid)
			if len(stats.Containers) == 0 {
				err = rt.ErrNotFound
			}
			return stats, err
		}
	}},
	{"figures have no name", []string{"stats/running"}, func(r *tampered) {
		statsThrough(r, func(c *rt.ContainerStats) { c.Name = "" })
	}},
	{"figures are never measured again", []string{"stats/running"}, func(r *tampered) {
		began := time.Now()
		statsThrough(r, func(c *rt.ContainerStats) { c.CPU.At, c.Memory.At = began, began })
	}},
	{"no container uses memory", []string{"stats/running"}, func(r *tampered) {
		statsThrough(r, func(c *rt.ContainerStats) { *c.Memory.WorkingSetBytes = 0 })
	}},
	{"the working set is absent", []string{"stats/running"}, func(r *tampered) {
		statsThrough(r, func(c *rt.ContainerStats) { c.Memory.WorkingSetBytes = nil })
	}},
	{"the processor time goes down", []string{"stats/running"}, func(r *tampered) {
		statsThrough(r, func(c *rt.ContainerStats) {
			*c.CPU.UsageCoreNanoSeconds = uint64(time.Hour) - *c.CPU.UsageCoreNanoSeconds
		})
	}},
	{"a change of resources needs a restart", []string{"update/running"}, func(r *tampered) {
		r.updateContainer = func(ctx context.Context, req rt.UpdateContainerRequest) error {
			if req.Resources.MemoryBytes > 0 {
				_ = r.m.ExitContainer(req.ContainerID, 137)
			}
			return instead(r.m.UpdateContainer(ctx, req), rt.ErrWrongState, nil)
		}
	}},
	{"resources cannot be changed", []string{"update/running"}, func(r *tampered) {
		r.updateContainer = func(ctx context.Context, req rt.UpdateContainerRequest) error {
			if err := r.m.UpdateContainer(ctx, req); err != nil || req.Resources.MemoryBytes == 0 {
				return err
			}
			return errOther
		}
	}},
	{"an update that asks for nothing is an error", []string{"update/nothing"}, func(r *tampered) {
		r.updateContainer = func(ctx context.Context, req rt.UpdateContainerRequest) error {
			if err := r.m.UpdateContainer(ctx, req); err != nil || req.Resources.MemoryBytes > 0 {
				return err
			}
			return errOther
		}
	}},
	{"an empty update of an unknown container succeeds", []string{"update/unknown"}, func(r *tampered) {
		r.updateContainer = func(ctx context.Context, req rt.UpdateContainerRequest) error {
			err := r.m.UpdateContainer(ctx, req)
			if req.Resources.MemoryBytes == 0 {
				return instead(err, rt.ErrNotFound, nil)
			}
			return err
		}
	}},

	// Answers.
	{"hooks are not answered", []string{"answer/running"}, func(r *tampered) {
		answerThrough(r, func(req rt.RunHandlerRequest, res rt.RunHandlerResult, err error) (rt.RunHandlerResult, error) {
			if err == nil && req.Purpose == rt.PreStopHook {
				return res, rt.ErrUnsupported
			}
			return res, err
		})
	}},
	{"a refusal is an error", []string{"answer/refuses"}, func(r *tampered) {
		answerThrough(r, func(_ rt.RunHandlerRequest, res rt.RunHandlerResult, err error) (rt.RunHandlerResult, error) {
			if err == nil && !res.OK {
				err = errOther
			}
			return res, err
		})
	}},
	{"everybody says yes", []string{"answer/refuses"}, func(r *tampered) {
		answerThrough(r, func(_ rt.RunHandlerRequest, res rt.RunHandlerResult, err error) (rt.RunHandlerResult, error) {
			res.OK = err == nil
			return res, err
		})
	}},
	{"every handler fails", []string{"answer/refuses"}, func(r *tampered) {
		answerThrough(r, func(_ rt.RunHandlerRequest, _ rt.RunHandlerResult, err error) (rt.RunHandlerResult, error) {
			return rt.RunHandlerResult{}, err
		})
	}},
	{"who asks ignores his context", []string{"answer/context"}, func(r *tampered) {
		r.answer = func(ctx context.Context, req rt.RunHandlerRequest) (rt.RunHandlerResult, error) {
			ctx, cancel := deaf(ctx)
			defer cancel()
			return r.m.RunHandler(ctx, req)
		}
	}},
	{"no answer is a no", []string{"answer/context"}, func(r *tampered) {
		answerThrough(r, func(_ rt.RunHandlerRequest, res rt.RunHandlerResult, err error) (rt.RunHandlerResult, error) {
			return res, instead(err, context.DeadlineExceeded, nil)
		})
	}},
	{"one question is answered at a time", []string{"answer/context"}, func(r *tampered) {
		turn := make(chan struct{}, 1)
		r.answer = func(ctx context.Context, req rt.RunHandlerRequest) (rt.RunHandlerResult, error) {
			turn <- struct{}{}
			defer func() { <-turn }()
			return r.m.RunHandler(ctx, req)
		}
	}},
	{"what does not run answers", []string{"answer/not-running"}, func(r *tampered) {
		answerThrough(r, func(_ rt.RunHandlerRequest, res rt.RunHandlerResult, err error) (rt.RunHandlerResult, error) {
			return res, instead(err, rt.ErrWrongState, nil)
		})
	}},
}

// userThrough changes the user of each container that has one.
func userThrough(r *tampered, f func(rt.State, *rt.LinuxContainerUser) *rt.LinuxContainerUser) {
	statusThrough(r, func(st *rt.PodStatus) {
		for i := range st.Containers {
			if c := &st.Containers[i]; c.User != nil {
				c.User = f(c.State, c.User)
			}
		}
	})
}
