package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A running program that has loaded a chart and renders it on demand.
type renderer struct {
	process *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
	errors  strings.Builder
}

// What one rendering uses, on average.
type cost struct {
	wall  time.Duration
	cpu   time.Duration
	bytes float64
}

func startRenderer(program, corpus, line string) (*renderer, error) {
	r := &renderer{process: exec.Command(program, corpus, line)}
	// Nothing of the user's settings of Helm has a say.
	r.process.Env = []string{"HOME=" + os.TempDir(), "PATH=" + os.Getenv("PATH")}
	r.process.Stderr = &r.errors
	var err error
	if r.orders, err = r.process.StdinPipe(); err != nil {
		return nil, err
	}
	answers, err := r.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.answers = bufio.NewScanner(answers)
	return r, r.process.Start()
}

func (r *renderer) stop() {
	r.orders.Close()
	r.process.Wait()
}

// Has the program render `count` times.
func (r *renderer) render(order string, count int, more ...any) (cost, error) {
	words := fmt.Sprintln(append([]any{order, count}, more...)...)
	if _, err := io.WriteString(r.orders, words); err != nil || !r.answers.Scan() {
		r.stop()
		return cost{}, fmt.Errorf("%s: %s", r.process.Args[0], strings.TrimSpace(r.errors.String()))
	}
	var answer struct{ Wall, CPU, Bytes float64 }
	if err := json.Unmarshal(r.answers.Bytes(), &answer); err != nil {
		return cost{}, err
	}
	each := func(total float64) time.Duration { return time.Duration(total / float64(count)) }
	return cost{wall: each(answer.Wall), cpu: each(answer.CPU), bytes: answer.Bytes / float64(count)}, nil
}

// Helm's engine and ours, each with the same chart.
type pair struct {
	helm, own *renderer
}

func startPair(s settings, corpus, line string) (pair, error) {
	helm, err := startRenderer(s.helmRender, corpus, line)
	if err != nil {
		return pair{}, err
	}
	own, err := startRenderer(s.ownRender, corpus, line)
	if err != nil {
		helm.stop()
		return pair{}, err
	}
	return pair{helm, own}, nil
}

func (p pair) stop() {
	p.helm.stop()
	p.own.stop()
}

// Lets both render in turns, so that both meet the same disturbances, and gives the medians.
func (p pair) compare(order string, rounds int, turn time.Duration) (helm, own cost, err error) {
	helmCount, err := p.helm.countFor(order, turn)
	if err != nil {
		return
	}
	ownCount, err := p.own.countFor(order, turn)
	if err != nil {
		return
	}
	var helmCosts, ownCosts []cost
	for range rounds {
		if helm, err = p.helm.render(order, helmCount); err != nil {
			return
		}
		if own, err = p.own.render(order, ownCount); err != nil {
			return
		}
		helmCosts, ownCosts = append(helmCosts, helm), append(ownCosts, own)
	}
	return medianCost(helmCosts), medianCost(ownCosts), nil
}

// How many renderings fill a turn. The first one, which fills caches, is not counted.
func (r *renderer) countFor(order string, turn time.Duration) (int, error) {
	if _, err := r.render(order, 1); err != nil {
		return 0, err
	}
	once, err := r.render(order, 2)
	if err != nil {
		return 0, err
	}
	count := float64(turn) / math.Max(float64(once.wall), 1)
	return int(math.Min(math.Max(count, 2), 2000)), nil
}

func medianCost(costs []cost) cost {
	return cost{
		wall:  median(costs, func(c cost) time.Duration { return c.wall }),
		cpu:   median(costs, func(c cost) time.Duration { return c.cpu }),
		bytes: median(costs, func(c cost) float64 { return c.bytes }),
	}
}

func median[T any, N float64 | time.Duration](items []T, number func(T) N) N {
	if len(items) == 0 {
		return 0
	}
	numbers := make([]N, 0, len(items))
	for _, item := range items {
		numbers = append(numbers, number(item))
	}
	slices.Sort(numbers)
	middle := len(numbers) / 2
	if len(numbers)%2 == 1 {
		return numbers[middle]
	}
	return (numbers[middle-1] + numbers[middle]) / 2
}
