package executor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/executor"
)

func TestBranch_DistinguishesParallelFromSequentialCalls(t *testing.T) {
	ctx := context.Background()
	branches := executor.WithBranches(ctx, 3)
	b := func(i int) executor.Branch { return executor.BranchOf(branches[i]) }
	assert.NotNil(t, b(0).GroupKey())
	assert.True(t, b(0).GroupKey() == b(1).GroupKey())
	assert.False(t, b(0).Follows(b(1)), "they are parallel")
	assert.False(t, b(1).Follows(b(0)))
	assert.True(t, b(1).Follows(b(1)))

	after := executor.BranchOf(executor.WithBranchAfter(executor.WithBranchAfter(branches[2], 0), 1))
	assert.True(t, after.Follows(b(0)))
	assert.True(t, after.Follows(b(1)))
	assert.True(t, after.Follows(b(2)), "its own work before")
	assert.False(t, b(2).Follows(b(0)), "what it did before it waited")
	assert.False(t, b(0).Follows(after))

	other := executor.BranchOf(executor.WithBranches(ctx, 2)[0])
	assert.False(t, other.GroupKey() == b(0).GroupKey())
	assert.False(t, after.Follows(other), "another fork")
}

func TestBranch_ASingleOneIsTheWorkOfItsCaller(t *testing.T) {
	ctx := context.Background()
	assert.Equal(t, []context.Context{ctx}, executor.WithBranches(ctx, 1))
	assert.Empty(t, executor.WithBranches(ctx, 0))
	assert.Nil(t, executor.BranchOf(ctx).GroupKey())
	assert.Equal(t, ctx, executor.WithBranchAfter(ctx, 1))
	assert.False(t, executor.Branch{}.Follows(executor.Branch{}))
	two := executor.WithBranches(ctx, 2)
	assert.Equal(t, two[1], executor.WithBranchAfter(two[1], 1), "no branch waits for itself")
	inner := executor.WithBranches(two[0], 1)
	assert.Equal(t, two[:1], inner, "a single branch within a branch is that branch")
}
