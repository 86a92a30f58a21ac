#!/usr/bin/env python3
"""Generates pairs of short documents of several kinds, for values that are compared slot by slot.

    python3 bench/facts/kinds.py [SEED] > kinds.jsonl

Each line is an object with the fields set, kind, copy, a and b; `set` is the kind of document. The output depends only on SEED
(default 1). Templates differ from the first text in all values, in some of them, in a single one, in two values that change places,
or in a column that moved by one period; or they are follow-ups that share only background paragraphs. Some of them vary a few words
or end with another paragraph. Copies are reworded, shortened, extended or formatted in another way, but state the same values.

The kinds in FIRST were written before the constants of the measure were fixed, those in LATER afterwards.
"""
import json
import random
import re
import sys

from forms import NAMES, comment, edit_words, fill, jaccard3, kind_of

# A slot {x_p} holds the previous period's value of {x}.
FIRST = {
    "table": "Industrial output by region, {mon} {yr}|Region, output this month, output last month, change|North {big} {big_p} {pct}|South {big2} {big2_p} {pct2}"
             "|East {big3} {big3_p} {pct3}|West {big4} {big4_p} {pct4}|Centre {big5} {big5_p} {pct5}|Islands {big6} {big6_p} {pct6}|Total {big7} {big7_p} {pct7}"
             "|Figures are in thousand tonnes, seasonally adjusted. Changes are in percent against the same month of the year before.",
    "exchange": "Official exchange rates of the central bank, {mon} {day}|Buying and selling, units of the national currency|US dollar {fx} {fx2}|Pound sterling {fx3} {fx4}"
                "|Euro {fx5} {fx6}|Swiss franc {fx7} {fx8}|Japanese yen 100 {fx9} {fx10}|Danish krone {fx11} {fx12}|Norwegian krone {fx13} {fx14}|Swedish krona {fx15} {fx16}"
                "|The rates apply to transactions of up to {k} units. The previous fixing of the dollar was {fx_p}.",
    "results": "{co} reports {ord} quarter results|{city}, {mon} {day} - {co} said net profit in the {ord} quarter was {mln} million dollars, compared with {mln_p} million a year earlier."
               "|Revenue was {bil} billion dollars against {bil_p} billion. Earnings per share were {dlr} dollars, after {dlr_p} dollars.|The board proposed a dividend of {cts} cents per share, payable on {mon2} {day2}."
               "|The company employs {k} people in {few} countries.",
    "weather": "Weather report for {city}, {dow} {mon} {day}|The temperature reached {temp} degrees at noon, after {temp_p} degrees on the day before. The lowest temperature of the night was {temp2} degrees."
               "|Rainfall was {pct} mm, humidity {int} percent, air pressure {hpa} hPa. Winds blew from the west at {few} to {few2} knots.|Sunrise {hour}, sunset {hour2}. Tomorrow a high of {temp3} degrees is expected.",
    "ships": "Vessels expected at the port of {city}, week of {mon} {day}|MV {short}, {k} tonnes {com}, berth {few}, due {day2} {mon}|MV {short2}, {k2} tonnes {com2}, berth {few2}, due {day3} {mon}"
             "|MV {short3}, {k3} tonnes {com3}, berth {few3}, due {day4} {mon}|MV {short4}, {k4} tonnes {com4}, berth {few4}, due {day5} {mon}|Draught at high water is {dlr} metres. Pilots board {few5} miles off the outer buoy.",
}
LATER = {
    "notice": "Public notice no. {int}|The municipality of {city} invites tenders for the repair of {int2} metres of {adj} road in district {few}. Work begins on {mon} {day} and takes {few2} weeks."
              "|Tenders with a deposit of {k} dollars must be received by {hour} on {mon2} {day2} in room {int3} of the town hall. Documents cost {cts} dollars. The budget is {mln} million dollars, after {mln_p} million for the last section."
              "|Questions are answered on weekdays from {few3} to {few4} by {per}.",
    "sport": "{short} beat {short2} {score} in the {ord} round|{city}, {dow} - {per} scored {int} points as {short} won against {short2} before a crowd of {big}.|The home side led {score2} at half time and made {few} of {few2} attempts in the last {few3} minutes, "
             "after {few_p} in the first game of the series.|{short} now has {few4} wins and {few5} losses. The next game is on {mon} {day} at {hour}.",
    "recipe": "Bread with {com} and herbs|For {few} people|Mix {gram} g flour, {gram2} g butter, {few2} eggs and {ml} ml milk. Add {few3} spoons of sugar and {gram3} g nuts.|Knead for {few4} minutes and let the dough rest for {int} minutes in a warm place."
              "|Bake at {oven} degrees for {int2} minutes, then at {oven2} degrees for another {few5} minutes. One portion has {kcal} kilocalories and {gram4} g of protein.",
    "auction": "Bond auction results|The ministry sold {rmln} million of {few}-year bonds at its auction on {mon} {day}.|The average yield was {rate} percent, compared with {rate_p} percent at the previous auction. The highest accepted yield was {rate2} percent, the lowest price {frac}."
               "|Bids totalled {bil} billion, or {dlr} times the amount offered. Foreign investors bought {pct} percent. The bonds mature in {yr}.",
    "timetable": "Ferry timetable from {mon} {day}|Route {int}, {city} to {city2}|Departures {clock} {clock2} {clock3} {clock4} {clock5} {clock6}|Arrivals {clock7} {clock8} {clock9} {clock10} {clock11} {clock12}|The crossing takes {int2} minutes. "
                 "Adults pay {dlr} euros, children {dlr2} euros, cars {rate} euros. Check-in closes {few} minutes before departure. Bicycles are carried free of charge on all sailings except on holidays.",
    "labels": "Nutrition facts of {short} muesli|Per serving of {gram} g: energy {kcal} kcal, fat {pct} g, of which saturates {pct2} g, carbohydrate {pct3} g, of which sugars {pct4} g, fibre {pct5} g, protein {pct6} g, salt {dlr} g."
              "|The pack contains {few} servings. Store in a dry place and consume within {few2} weeks after opening. Lot {big}. May contain traces of nuts, milk and sesame.",
}
EXTRA_SLOTS = {
    "hpa": lambda r: str(r.randint(980, 1040)),
    "score": lambda r: f"{r.randint(60, 120)}-{r.randint(40, 110)}",
    "gram": lambda r: str(r.randint(2, 90) * 10),
    "ml": lambda r: str(r.randint(4, 40) * 10),
    "oven": lambda r: str(r.randint(15, 26) * 10),
    "kcal": lambda r: str(r.randint(90, 700)),
    "clock": lambda r: f"{r.randint(5, 23):02}:{r.choice(['05', '10', '20', '35', '40', '55'])}",
}
NUMERIC = {"big", "pct", "fx", "k", "mln", "bil", "dlr", "cts", "few", "temp", "int", "hpa", "day", "yr", "hour", "rate", "net", "goal", "frac", "div", "rmln"} | set(EXTRA_SLOTS)
TEENS = "zero one two three four five six seven eight nine ten eleven twelve".split()
SHORTER = {"million": "mln", "billion": "bln", "dollars": "dlrs", "percent": "pct", "cents": "cts", "tonnes": "t", "degrees": "deg", "January": "Jan", "February": "Feb",
           "August": "Aug", "September": "Sept", "October": "Oct", "November": "Nov", "December": "Dec", "months": "mths", "quarter": "qtr", "minutes": "min", "hours": "hrs"}


def base(slot):
    return kind_of(slot.removesuffix("_p"))


def paragraphs(pattern, r, values):
    return [fill(part, r, values) for part in pattern.split("|")]


def draw(pattern, r, known):
    """Returns values for all slots of a pattern, with those that are known."""
    values = {}
    for slot in dict.fromkeys(re.findall(r"\{(\w+)\}", pattern)):
        values[slot] = known.get(slot) or fill("{" + slot.removesuffix("_p") + "}", r, {})
    return values


def other_value(slot, value, r):
    for _ in range(50):
        drawn = fill("{" + slot.removesuffix("_p") + "}", r, {})
        if drawn != value:
            return drawn
    return value


def changed(kind, pattern, r, values):
    """Returns the values of a template of the given kind."""
    numeric = [slot for slot in values if base(slot) in NUMERIC and base(slot) not in ("day", "yr")]
    if kind == "other":
        return draw(pattern, r, {})
    if kind == "next":
        return draw(pattern, r, {slot: value for slot, value in values.items() if base(slot) in NAMES})
    if kind == "shift":
        moved = {slot: value for slot, value in values.items() if slot not in numeric}
        for slot in numeric:
            if slot.endswith("_p"):
                moved[slot] = values[slot.removesuffix("_p")]
            elif slot + "_p" not in values and r.random() < .5:
                moved[slot] = values[slot]
        return draw(pattern, r, moved)
    new = dict(values)
    if kind == "swap":
        x, y = r.sample(numeric, 2)
        new[x], new[y] = new[y], new[x]
        return new
    count = 1 if kind == "one" else max(2, round(len(numeric) * r.uniform(.08, .3)))
    for slot in r.sample(numeric, min(count, len(numeric))):
        new[slot] = other_value(slot, new[slot], r)
    return new


def reformat(text, r):
    """Writes the same values in another way."""
    for long, short in SHORTER.items():
        if r.random() < .6:
            text = re.sub(rf"\b{long}\b", short, text)
    if r.random() < .5:
        text = re.sub(r"\b\d{1,3}(,\d{3})+\b", lambda m: m.group().replace(",", ""), text)
    if r.random() < .5:
        text = re.sub(r"(?<![-.,/:\d])([2-9]|1[0-2])\b(?![-.,/:]\d)", lambda m: TEENS[int(m.group())] if r.random() < .5 else m.group(), text)
    if r.random() < .5:
        text = re.sub(r"\b(\d+) (mm|hPa|km|kg|g|t|ml)\b", r"\1\2", text)
    if r.random() < .2:
        text = text.upper()
    return text


def edited(parts, r):
    """Returns an edited copy with the same values, and the names of its edits."""
    parts, done = list(parts), []
    for _ in range(r.choice([1, 1, 2, 2, 3])):
        kind = r.choice(["words", "append", "cut", "headline", "dateline", "sentence", "format", "format", "insert", "resend", "order"])
        done.append(kind)
        if kind == "words":
            share = r.uniform(.01, .12)
            parts = [edit_words(p, share, r) for p in parts]
        elif kind == "append":
            parts += [comment(r) for _ in range(r.randint(1, 4))]
        elif kind == "cut" and len(parts) > 3:
            parts = parts[:r.randint(max(2, len(parts) // 2), len(parts) - 1)]
        elif kind == "headline":
            parts = r.choice([parts[1:], ["CORRECTED - " + parts[0]] + parts[1:], [fill("{adj} {noun} seen", r, {}) + " - update"] + parts[1:]])
        elif kind == "dateline":
            parts[0] = fill(r.choice(["({city}) ", "{dow}: ", "From our correspondent in {city}: "]), r, {}) + parts[0]
        elif kind == "sentence":
            i = r.randrange(len(parts))
            parts[i] = edit_words(parts[i], .4, r)
        elif kind == "format":
            parts = reformat("\n".join(parts), r).split("\n")
        elif kind == "insert":
            parts.insert(r.randint(1, len(parts)), comment(r))
        elif kind == "resend":
            parts = parts + [r.choice(["-- more --", "(repeats to more subscribers)", "All rights reserved."])]
        elif kind == "order" and len(parts) > 3:
            i = r.randrange(1, len(parts) - 1)
            parts[i:] = parts[i + 1:] + [parts[i]]
    return parts, "+".join(sorted(set(done)))


def pairs(seed, per_kind):
    for name, pattern in (FIRST | LATER).items():
        r = random.Random(f"{seed} {name}")
        counts = {True: 0, False: 0}
        while min(counts.values()) < per_kind:
            copy = counts[True] <= counts[False]
            values = draw(pattern, r, {})
            first = paragraphs(pattern, r, values)
            background = [comment(r) for _ in range(r.choice([0, 0, 1, 2, 3]))]
            if copy:
                first = first + background
                second, kind = edited(first, r)
            else:
                kind = r.choice(["other", "next", "shift", "one", "few", "swap", "follow"])
                if kind == "follow":
                    background = [comment(r) for _ in range(r.randint(4, 7))]
                    second = paragraphs(pattern, r, changed("next", pattern, r, values)) + background
                    first = first + background
                else:
                    second = paragraphs(pattern, r, changed(kind, pattern, r, values))
                    if r.random() < .3:
                        first, second = first + background, second + background
                    elif r.random() < .2:
                        second = second + background
                    if r.random() < .3:
                        # The wording of a series varies a little, too.
                        share = r.uniform(.01, .04)
                        second = [edit_words(p, share, r) for p in second]
            joint = r.choice(["\n", "\n\n", " "])
            a, b = joint.join(first), joint.join(second)
            if r.random() < .5:
                a, b = b, a
            if a != b and jaccard3(a, b) >= .3 and (not copy or jaccard3(a, b) < 1):
                counts[copy] += 1
                yield {"set": name, "kind": kind, "copy": copy, "a": a, "b": b}


if __name__ == "__main__":
    import forms
    forms.SLOTS.update(EXTRA_SLOTS)
    for pair in pairs(int(sys.argv[1]) if len(sys.argv) > 1 else 1, 300):
        print(json.dumps(pair))
