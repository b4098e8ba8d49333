// Package conditions says what the containers of a pod mean for its conditions
// Initialized, ContainersReady and Ready. It is pure, and the one place for the
// two who set them: who describes a pod, and who keeps its status and is told
// by a probe that a container is ready.
//
// Kept: the conditions of the rows of the outer table 2; readiness gates (P12);
// ST-18; P33.
//
//   - Initialized counts ordinary init containers by Ready, which is an end with
//     0, and sidecars by Started. It is true for good once a regular container
//     has run.
//   - ContainersReady counts sidecars and regular containers by Ready.
//   - Ready is ContainersReady and every readiness gate.
//   - A pod that is over is not ready, and says how it ended.
//
// Times and generations are for the caller.
//
// # Differences from the kubelet
//
//   - In a terminal phase ContainersReady and Ready give that as their reason,
//     also where a container has no status.
package conditions
