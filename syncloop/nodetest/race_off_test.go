//go:build !race

package nodetest_test

const raced = false
