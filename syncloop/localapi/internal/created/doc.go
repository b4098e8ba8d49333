// Package created decides the life of a pod that a client has created through the local API.
//
//	state, effects = state.Next(created.Event{Kind: created.Delete})
//
// The table is pure: [State.Next] returns the next state and the effects in their order, and the caller
// performs them. The caller saves a pod before it calls Next with a Create, Update or Delete, so a restart
// finds each state that a client has been told: Restore brings it back.
//
//	             Create                Delete               Report, Inspect: ended        Forgotten          Expire
//	Unknown ───────────────▶ Desired ─────────────▶ Deleting ───────────────────▶ (Forget) ─────────▶ Gone ───────▶ Unknown
//	   │                       ▲  │                    ▲  ▲
//	   │ Restore        Report │  │ Delete             │  │ Update removes the last finalizer
//	   ├──────────▶ Restored ──┘  └──────▶ Held ───────┘  │
//	   └──────────────────────────────────────────────────┘ Restore of a deleted pod; Held if it has finalizers
//
// A pod of another source has the state Unknown as long as the node reports it. It is shown and hidden by
// the same table.
package created
