//go:build !race

package lifecycle_test

const raced = false
