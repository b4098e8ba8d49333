package executor

import (
	"context"
	"slices"
)

// Branch identifies one of several parallel branches of a program, and the branches for which it
// has waited. A context carries it, so that a test that records calls can separate calls that were
// made in parallel from calls that were made one after another. A Branch has no effect on the calls. A context
// without a branch has the zero Branch.
type Branch struct {
	group *branchGroup
	index int
	after []int
}

// branchGroup is shared by the branches of one call of WithBranches.
type branchGroup struct{ branches int }

type branchKey struct{}

// WithBranches returns a context for each of n parallel branches. A single branch is not parallel:
// it gets the context of the caller.
func WithBranches(ctx context.Context, n int) []context.Context {
	all := make([]context.Context, n)
	if n == 1 {
		all[0] = ctx
		return all
	}
	shared := &branchGroup{n}
	for i := range all {
		all[i] = context.WithValue(ctx, branchKey{}, Branch{group: shared, index: i})
	}
	return all
}

// WithBranchAfter returns a context of the same branch for calls after the branch has waited for
// another branch of its group. Without a branch it returns ctx.
func WithBranchAfter(ctx context.Context, other int) context.Context {
	b := BranchOf(ctx)
	if b.group == nil || b.index == other {
		return ctx
	}
	b.after = append(slices.Clip(b.after), other)
	return context.WithValue(ctx, branchKey{}, b)
}

// BranchOf returns the branch that a context carries.
func BranchOf(ctx context.Context) Branch {
	b, _ := ctx.Value(branchKey{}).(Branch)
	return b
}

// GroupKey returns a comparable value that is equal for all branches of one WithBranches call. It
// returns nil without a branch.
func (b Branch) GroupKey() any {
	if b.group == nil {
		return nil
	}
	return b.group
}

// Follows reports whether the branch has waited for the other one, or is the same one.
func (b Branch) Follows(other Branch) bool {
	return b.group != nil && b.group == other.group && (b.index == other.index || slices.Contains(b.after, other.index))
}
