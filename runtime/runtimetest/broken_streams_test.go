package runtimetest_test

import (
	"bytes"
	"context"
	"errors"

	rt "github.com/podkeel/podkeel/runtime"
)

// streamThrough changes the results of streamed commands.
func streamThrough(r *tampered, f func(req rt.ExecStreamRequest, code int32, err error) (int32, error)) {
	r.execStream = func(ctx context.Context, req rt.ExecStreamRequest, streams rt.Streams) (int32, error) {
		code, err := r.m.ExecStream(ctx, req, streams)
		return f(req, code, err)
	}
}

var brokenStreams = []broken{
	{"the code of a streamed command gets lost", []string{"exec-stream/exit", "exec-stream/output"}, func(r *tampered) {
		streamThrough(r, func(_ rt.ExecStreamRequest, _ int32, err error) (int32, error) { return 0, err })
	}},
	{"a streamed command that fails is an error", []string{"exec-stream/exit", "exec-stream/output"}, func(r *tampered) {
		streamThrough(r, func(_ rt.ExecStreamRequest, code int32, err error) (int32, error) {
			if code != 0 {
				return code, errOther
			}
			return code, err
		})
	}},
	{"a streamed command ends its container", []string{"exec-stream/exit", "exec-stream/context"}, func(r *tampered) {
		streamThrough(r, func(req rt.ExecStreamRequest, code int32, err error) (int32, error) {
			return code, errors.Join(err, r.m.ExitContainer(req.ContainerID, 0))
		})
	}},
	{"the output of a streamed command comes at its end", []string{"exec-stream/output"}, func(r *tampered) {
		r.execStream = func(ctx context.Context, req rt.ExecStreamRequest, streams rt.Streams) (int32, error) {
			var all bytes.Buffer
			code, err := r.m.ExecStream(ctx, req, rt.Streams{Stdout: &all})
			if streams.Stdout != nil {
				_, _ = all.WriteTo(streams.Stdout)
			}
			return code, err
		}
	}},
	{"one stream of a streamed command gets lost", []string{"exec-stream/output"}, func(r *tampered) {
		r.execStream = func(ctx context.Context, req rt.ExecStreamRequest, streams rt.Streams) (int32, error) {
			streams.Stderr = nil
			return r.m.ExecStream(ctx, req, streams)
		}
	}},
	{"ExecStream ignores its context", []string{"exec-stream/context"}, func(r *tampered) {
		r.execStream = func(ctx context.Context, req rt.ExecStreamRequest, streams rt.Streams) (int32, error) {
			return r.m.ExecStream(context.WithoutCancel(ctx), req, streams)
		}
	}},
	{"a streamed command that was given up has a code", []string{"exec-stream/context"}, func(r *tampered) {
		streamThrough(r, func(_ rt.ExecStreamRequest, code int32, err error) (int32, error) {
			return code, instead(err, context.DeadlineExceeded, nil)
		})
	}},
	{"to streams an unknown container is some error", []string{"exec-stream/unknown"}, func(r *tampered) {
		streamThrough(r, func(_ rt.ExecStreamRequest, code int32, err error) (int32, error) {
			return code, instead(err, rt.ErrNotFound, errOther)
		})
	}},
	{"a streamed command runs in what does not", []string{"exec-stream/not-running"}, func(r *tampered) {
		streamThrough(r, func(_ rt.ExecStreamRequest, code int32, err error) (int32, error) {
			return code, instead(err, rt.ErrWrongState, nil)
		})
	}},
}
