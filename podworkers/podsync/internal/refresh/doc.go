// Package refresh decides when the volume files of a pod are refreshed while a call of the pod's
// worker is in progress, because such a call may hang. It is pure.
//
//	SetUp ──► SettingUp ──► Ready ─────► TearingDown ──► (gone)
//	              ▲            │ due          │
//	              └────────────┴──────────────┘ SetUp
//
// A change makes a pod due after Grace. Before that a sync may update the files itself. A successful
// SetUp or refresh covers all changes before its beginning. A refresh begins only while the volumes of
// the pod are Ready, or when a SetUp has been running longer than SetUpGrace. A pod has one refresh at
// a time. When a SetUp or TearDown begins, the caller cancels the running refresh of the pod and does
// not wait for it. A pod that this agent has not set up may have files of an earlier agent. It is
// Ready from its first change on, and removed from the table when that change is covered.
//
// The table is not part of package plan: plan is public and decides about one pod at one time, and the
// table has the files of all pods over time.
package refresh
