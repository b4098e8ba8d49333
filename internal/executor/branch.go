package executor

import (
	"context"
	"slices"
)

// Branch identifies one of several branches in which a program makes calls at the same time, and
// the branches for which it has waited. A context carries it, so that a trace can separate calls
// that were made in parallel from calls that were made one after another. A Branch changes
// nothing about the calls. A context without a branch has the zero Branch.
type Branch struct {
	fork  *fork
	index int
	after []int
}

// fork is shared by the branches of one call of WithBranches.
type fork struct{ branches int }

type branchKey struct{}

// WithBranches returns a context for each of n branches that work at the same time. A single
// branch is the work of its caller: it gets the context of the caller.
func WithBranches(ctx context.Context, n int) []context.Context {
	all := make([]context.Context, n)
	if n == 1 {
		all[0] = ctx
		return all
	}
	shared := &fork{n}
	for i := range all {
		all[i] = context.WithValue(ctx, branchKey{}, Branch{fork: shared, index: i})
	}
	return all
}

// WithBranchAfter returns a context of the same branch for what it does after it has waited for
// another branch of its fork. Without a branch it returns the context itself.
func WithBranchAfter(ctx context.Context, other int) context.Context {
	b := BranchOf(ctx)
	if b.fork == nil || b.index == other {
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

// Fork returns a value that is equal for all branches of one fork, and nil without a branch.
func (b Branch) Fork() any {
	if b.fork == nil {
		return nil
	}
	return b.fork
}

// Follows reports whether the branch has waited for the other one, or is the same one.
func (b Branch) Follows(other Branch) bool {
	return b.fork != nil && b.fork == other.fork && (b.index == other.index || slices.Contains(b.after, other.index))
}
