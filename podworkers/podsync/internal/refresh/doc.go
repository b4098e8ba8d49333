// Package refresh decides when the files of which pods are brought up to date beside the calls
// of their workers, which may hang. It is pure.
//
//	SetUp ──► SettingUp ──► Standing ──► TearingDown ──► (gone)
//	              ▲            │ due          │
//	              └────────────┴──────────────┘ SetUp
//
// A change makes a pod due after Grace: until then a sync may do it. A SetUp or a refresh that
// began after the change, and has succeeded, covers it. A refresh begins while the volumes of the
// pod are Standing, or beside a SetUp that has been under way for SetUpGrace, and one at a time for
// a pod. One that is under way when a SetUp or a TearDown begins is to be cancelled; nothing waits
// for it. A pod that was not set up yet may have files of an earlier agent: it is Standing from its
// first change on, and dropped when that is covered.
//
// The table is no part of plan: plan decides about one pod from what it is given and is public, while
// the table has the files of all pods over time.
package refresh
