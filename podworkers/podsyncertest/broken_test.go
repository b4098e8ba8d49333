package podsyncertest_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsyncertest"
	rt "github.com/podkeel/podkeel/runtime"
)

func runs(status *rt.PodStatus) bool {
	for i := range status.Containers {
		if status.Containers[i].State == rt.StateRunning {
			return true
		}
	}
	return false
}

// killOthers stops every container of the machine except the containers of one pod.
func (s *tampered) killOthers(but *v1.Pod) {
	for _, pod := range s.machine.Snapshot() {
		for _, c := range pod.Containers {
			if pod.UID != but.UID && c.State == rt.StateRunning {
				_ = s.machine.ExitContainer(c.ID, 137)
			}
		}
	}
}

// hang returns a call that ignores its context.
func (s *tampered) hang(ctx context.Context) error {
	return podworkers.Wait(context.WithoutCancel(ctx), time.Hour)
}

var brokenSyncers = []broken{
	{"starts nothing", allThatStart(), func(s *tampered) {
		s.sync = func(context.Context, podworkers.SyncPodType, *v1.Pod, *v1.Pod, *rt.PodStatus) (bool, error) {
			return false, nil
		}
	}},
	{"takes what runs for an error", []string{"sync/again", "sync/new-process"}, func(s *tampered) {
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			terminal, err := s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
			if runs(status) {
				err = errBroken
			}
			return terminal, err
		}
	}},
	{"starts pods that are created and no others", []string{"sync/mirror", "sync/types"}, func(s *tampered) {
		var created known
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			if kind != podworkers.SyncPodCreate && !created.has(pod.UID) && !runs(status) {
				return false, nil
			}
			created.add(pod.UID)
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
	}},
	{"refuses mirror pods", []string{"sync/mirror"}, func(s *tampered) {
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			if mirror != nil {
				return false, errBroken
			}
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
	}},
	{"changes the mirror pod", []string{"sync/read-only"}, func(s *tampered) {
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			if mirror != nil {
				mirror.Status.Phase = v1.PodRunning
			}
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
	}},
	{"changes the status of SyncPod", []string{"sync/read-only"}, func(s *tampered) {
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			defer func() { status.Namespace = "changed" }()
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
	}},
	{"SyncPod takes its cancellation for a success", []string{"sync/cancelled"}, func(s *tampered) {
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			if ctx.Err() != nil {
				return false, nil
			}
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
	}},
	{"SyncPod ignores its context", []string{"sync/cancelled"}, func(s *tampered) {
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			if ctx.Err() != nil {
				return false, s.hang(ctx)
			}
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
	}},
	{"takes every end of a container for that of the pod", []string{"sync/new-incarnation", "sync/restarts"}, func(s *tampered) {
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			if len(status.Containers) > 0 && !runs(status) {
				return true, nil
			}
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
	}},
	{"knows no end", []string{"sync/ends"}, func(s *tampered) {
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			_, err := s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
			return false, err
		}
	}},
	{"starts no UID again that was finished", []string{"sync/new-incarnation"}, func(s *tampered) {
		var finished known
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			if finished.has(pod.UID) {
				return true, nil
			}
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
		s.terminated = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus) error {
			finished.add(pod.UID)
			return s.PodSyncer.SyncTerminatedPod(ctx, pod, status)
		}
	}},
	{"begins with restarts", []string{"sync/new-process"}, func(s *tampered) {
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			if s.restarted {
				s.killOthers(&v1.Pod{})
			}
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
	}},
	{"stops nothing", []string{"terminating/cancelled", "terminating/grace", "terminating/new-process", "terminating/status-func", "terminating/stops"}, func(s *tampered) {
		s.terminating = func(context.Context, *v1.Pod, *rt.PodStatus, *int64, podworkers.PodStatusFunc) error { return nil }
	}},
	{"stops the first time only", []string{"terminating/again"}, func(s *tampered) {
		var stopped known
		s.terminating = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, change podworkers.PodStatusFunc) error {
			if stopped.has(pod.UID) {
				return errBroken
			}
			err := s.PodSyncer.SyncTerminatingPod(ctx, pod, status, grace, change)
			if err == nil {
				stopped.add(pod.UID)
			}
			return err
		}
	}},
	{"stops only what it has started", []string{"terminating/never-started", "terminating/new-process"}, func(s *tampered) {
		var synced known
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			synced.add(pod.UID)
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
		s.terminating = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, change podworkers.PodStatusFunc) error {
			if !synced.has(pod.UID) {
				return errBroken
			}
			return s.PodSyncer.SyncTerminatingPod(ctx, pod, status, grace, change)
		}
	}},
	{"knows the grace of the spec only", []string{"terminating/grace"}, func(s *tampered) {
		s.terminating = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, _ *int64, change podworkers.PodStatusFunc) error {
			return s.PodSyncer.SyncTerminatingPod(ctx, pod, status, nil, change)
		}
	}},
	{"SyncTerminatingPod takes its cancellation for a success", []string{"terminating/cancelled"}, func(s *tampered) {
		s.terminating = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, change podworkers.PodStatusFunc) error {
			err := s.PodSyncer.SyncTerminatingPod(ctx, pod, status, grace, change)
			if ctx.Err() != nil {
				err = nil
			}
			return err
		}
	}},
	{"SyncTerminatingPod ignores its context", []string{"concurrent/slow-pod", "terminating/cancelled"}, func(s *tampered) {
		s.terminating = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, change podworkers.PodStatusFunc) error {
			err := s.PodSyncer.SyncTerminatingPod(ctx, pod, status, grace, change)
			if ctx.Err() != nil {
				err = errors.Join(err, s.hang(ctx))
			}
			return err
		}
	}},
	{"calls no podStatusFn", []string{"terminating/status-func"}, func(s *tampered) {
		s.terminating = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, _ podworkers.PodStatusFunc) error {
			return s.PodSyncer.SyncTerminatingPod(ctx, pod, status, grace, nil)
		}
	}},
	{"counts the grace down in place", []string{"terminating/read-only"}, func(s *tampered) {
		s.terminating = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, change podworkers.PodStatusFunc) error {
			defer func() {
				if grace != nil {
					*grace = 0
				}
			}()
			return s.PodSyncer.SyncTerminatingPod(ctx, pod, status, grace, change)
		}
	}},
	{"SyncTerminatingPod stops everything", []string{"terminated/others", "terminating/others"}, func(s *tampered) {
		s.terminating = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, change podworkers.PodStatusFunc) error {
			if pod.Name == "a" {
				s.killOthers(pod)
			}
			return s.PodSyncer.SyncTerminatingPod(ctx, pod, status, grace, change)
		}
	}},
	{"leaves alone what it has not started", []string{"runtime-pod/new-process"}, func(s *tampered) {
		s.runtimePod = func(ctx context.Context, pod *rt.Pod) error {
			if s.restarted {
				return nil
			}
			return s.PodSyncer.SyncTerminatingRuntimePod(ctx, pod)
		}
	}},
	{"stops nothing of the runtime's", []string{"runtime-pod/new-process", "runtime-pod/stops"}, func(s *tampered) {
		s.runtimePod = func(context.Context, *rt.Pod) error { return nil }
	}},
	{"wants to find a pod of the runtime's", []string{"runtime-pod/again"}, func(s *tampered) {
		s.runtimePod = func(ctx context.Context, pod *rt.Pod) error {
			if status := s.machine.SnapshotStatus(pod.UID); !runs(status) {
				return rt.ErrNotFound
			}
			return s.PodSyncer.SyncTerminatingRuntimePod(ctx, pod)
		}
	}},
	{"changes a pod of the runtime's", []string{"runtime-pod/read-only"}, func(s *tampered) {
		s.runtimePod = func(ctx context.Context, pod *rt.Pod) error {
			defer func() { pod.Containers[0].State = rt.StateExited }()
			return s.PodSyncer.SyncTerminatingRuntimePod(ctx, pod)
		}
	}},
	{"SyncTerminatingRuntimePod stops everything", []string{"runtime-pod/others"}, func(s *tampered) {
		s.runtimePod = func(ctx context.Context, pod *rt.Pod) error {
			s.killOthers(&v1.Pod{})
			return s.PodSyncer.SyncTerminatingRuntimePod(ctx, pod)
		}
	}},
	{"cleans up once", []string{"terminated/again"}, func(s *tampered) {
		var cleaned known
		s.terminated = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus) error {
			if cleaned.add(pod.UID) {
				return errBroken
			}
			return s.PodSyncer.SyncTerminatedPod(ctx, pod, status)
		}
	}},
	{"cleans up only what has run", []string{"terminated/never-started"}, func(s *tampered) {
		s.terminated = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus) error {
			if len(status.Containers) == 0 {
				return errBroken
			}
			return s.PodSyncer.SyncTerminatedPod(ctx, pod, status)
		}
	}},
	{"SyncTerminatedPod ignores its context", []string{"terminated/cancelled"}, func(s *tampered) {
		s.terminated = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus) error {
			if ctx.Err() != nil {
				return s.hang(ctx)
			}
			return s.PodSyncer.SyncTerminatedPod(ctx, pod, status)
		}
	}},
	{"writes the end into the pod", []string{"terminated/read-only"}, func(s *tampered) {
		s.terminated = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus) error {
			pod.Annotations = map[string]string{"ended": "true"}
			return s.PodSyncer.SyncTerminatedPod(ctx, pod, status)
		}
	}},
	{"SyncTerminatedPod stops everything", []string{"terminated/others"}, func(s *tampered) {
		s.terminated = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus) error {
			if pod.Name == "a" {
				s.killOthers(pod)
			}
			return s.PodSyncer.SyncTerminatedPod(ctx, pod, status)
		}
	}},
	{"fails for ever when two pods are synced at once", []string{"concurrent/pods"}, func(s *tampered) {
		var busy, confused atomic.Bool
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			if !busy.CompareAndSwap(false, true) {
				confused.Store(true)
			}
			defer busy.Store(false)
			if err := podworkers.Wait(ctx, time.Millisecond); err != nil {
				return false, err
			}
			if confused.Load() {
				return false, errBroken
			}
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
	}},
	{"one call at a time", []string{"concurrent/slow-pod"}, func(s *tampered) {
		free := make(chan struct{}, 1)
		s.sync = func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
			select {
			case free <- struct{}{}:
				defer func() { <-free }()
			case <-ctx.Done():
				return false, ctx.Err()
			}
			return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
		}
		s.terminating = func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, change podworkers.PodStatusFunc) error {
			free <- struct{}{}
			defer func() { <-free }()
			return s.PodSyncer.SyncTerminatingPod(ctx, pod, status, grace, change)
		}
	}},
}

// allThatStart are the cases with a running pod.
func allThatStart() (names []string) {
	for _, c := range podsyncertest.Cases() {
		switch c.Name {
		case "sync/read-only", "terminated/never-started", "terminating/never-started":
		default:
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}
