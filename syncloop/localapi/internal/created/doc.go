// Package created is the state machine of a pod that a client has created through the local API.
//
//	state, effects = state.Next(created.Event{Kind: created.Delete})
//
// The table is pure: [State.Next] returns the next state and the effects in their order, and the caller
// performs them. The caller saves a pod before it calls Next with Create, Update or Delete. After a restart,
// Restore continues from the saved pod, so the response of each write stays true.
//
//	             Create                Delete             Report, Inspect: not Active    Forgotten            Expire
//	Unknown ───────────────▶ Desired ─────────────▶ Deleting ───────────────────▶ (Forget) ─────────▶ Removed ────▶ Unknown
//	   │                       ▲  │                    ▲  ▲
//	   │ Restore        Report │  │ Delete             │  │ Update removes the last finalizer
//	   ├──────────▶ Restored ──┘  └──────▶ Held ───────┘  │
//	   └──────────────────────────────────────────────────┘ Restore of a deleted pod; Held if it has finalizers
//
// The diagram leaves out two transitions. Delete leads from Restored to Held or Deleting, as from Desired. If the
// node refuses a new pod, the effect of Refused is Forget, and Forgotten leads from Desired to Removed.
//
// A pod of another source stays in state Unknown. The same table shows it while the node reports it, and
// hides it afterwards.
package created
