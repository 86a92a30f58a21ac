#!/usr/bin/env python3
"""Generates pairs of wire-like articles: templates (the same wording with different facts) and edited copies.

    python3 bench/facts/forms.py [SEED] > forms.jsonl

Each line is an object with the fields set, kind, copy, a and b. The output depends only on SEED (default 1). All patterns, name
lists and edits were written for this project; nothing is taken from a corpus. A slot is written {kind} or {kind7}; slots with the
same name in one pattern get the same value.
"""
import json
import random
import re
import sys

ONSETS = "b br c ch cl cr d dr f fl g gr h j k kl l m n p pr qu r s sh st t tr v w z".split()
VOWELS = "a e i o u ai au ea ee ie oo ou".split()
CODAS = "ck l ld m n nd ng nt r rd rk s ss st t tt x rn lm".split()
INDUSTRY = ("Industries Systems Resources Technologies Financial Foods Energy Airlines Bancorp Chemical Steel Motors "
            "Petroleum Holdings Stores Laboratories Insurance Electronics Communications Gold Paper Trust").split()
LEGAL = ["Inc", "Corp", "Co", "Ltd", "Plc", "NV", "AG", "SA", "Group", "Co Inc"]
FIRST = ("James Robert Michael David Richard Thomas Peter Karl Hans Pierre Jean Takeo Kenji Carlos Luis Ahmed Helen "
         "Margaret Anna Susan Paul Walter Bruno Erik George Frank Nigel Alan Kurt Sven").split()
COUNTRY = ("Brazil Argentina Chile Peru Mexico Canada France Italy Spain Portugal Turkey Egypt Nigeria Kenya India "
           "Pakistan Indonesia Thailand Malaysia Japan Korea Australia Norway Sweden Finland Poland Hungary Greece").split()
CITY = ("London Paris Tokyo Zurich Frankfurt Chicago Houston Toronto Sydney Milan Madrid Vienna Oslo Lagos Cairo "
        "Bombay Jakarta Bangkok Manila Seoul Lima Bogota Santiago Denver Boston Atlanta Dallas Geneva").split()
MONTH = "January February March April May June July August September October November December".split()
WEEKDAY = "Monday Tuesday Wednesday Thursday Friday".split()
COMMODITY = "wheat corn soybeans sugar coffee cocoa cotton rice barley rubber tin copper zinc lead nickel silver".split()
CURRENCY = "dollar mark yen sterling franc lira peso guilder krona rupee".split()
NOUN = ("output demand investment exports imports inflation growth spending production employment credit trade policy "
        "capacity reserves earnings margins consumption confidence supply").split()
VERB = "rise fall slow improve weaken recover stabilize accelerate ease strengthen".split()
ADJ = "strong weak steady modest sharp slow gradual firm uneven encouraging disappointing moderate".split()
REASON = ("higher raw material costs;lower interest charges;the weak dollar;a strike at its main plant;strong consumer demand;"
          "unusually cold weather;the sale of its shipping unit;increased competition from importers;delays in new orders;"
          "lower oil prices;a change in accounting;better capacity use;plant closures last summer;cost cutting").split(";")


def word(r):
    return "".join(r.choice(ONSETS) + r.choice(VOWELS) for _ in range(r.choice([1, 1, 2]))) + r.choice(CODAS)


def grouped(n):
    return f"{n:,}"


SLOTS = {
    "co": lambda r: f"{word(r).capitalize()} {r.choice(INDUSTRY)} {r.choice(LEGAL)}" if r.random() < .7
    else f"{word(r).capitalize()} and {word(r).capitalize()} {r.choice(LEGAL)}",
    "short": lambda r: word(r).capitalize(),
    "per": lambda r: f"{r.choice(FIRST)} {word(r).capitalize()}",
    "last": lambda r: word(r).capitalize(),
    "city": lambda r: r.choice(CITY),
    "ctry": lambda r: r.choice(COUNTRY),
    "mon": lambda r: r.choice(MONTH),
    "dow": lambda r: r.choice(WEEKDAY),
    "day": lambda r: str(r.randint(1, 30)),
    "yr": lambda r: str(r.randint(1984, 1990)),
    "cts": lambda r: str(r.randint(2, 95)),
    "div": lambda r: r.choice(["5", "10", "12", "15", "20", "25", "30", "7-1/2", "12-1/2", "17.5", "8.25", "22", "45", "6"]),
    "dlr": lambda r: f"{r.uniform(.9, 6):.2f}",
    "rate": lambda r: f"{r.uniform(3, 15):.2f}",
    "rate1": lambda r: f"{r.uniform(3, 15):.1f}",
    "fx": lambda r: f"{r.uniform(1, 9):.4f}",
    "frac": lambda r: r.choice(["{}-1/8", "{}-1/4", "{}-3/8", "{}-1/2", "{}-5/8", "{}-3/4", "{}-7/8", "{}"]).format(r.randint(4, 60)),
    "pct": lambda r: f"{r.uniform(.1, 12):.1f}",
    "mln": lambda r: f"{r.uniform(1, 900):.1f}",
    "rmln": lambda r: str(r.randint(1, 30) * 50),
    "bil": lambda r: f"{r.uniform(1, 30):.1f}",
    "net": lambda r: grouped(r.randint(90, 9900) * 1000) if r.random() < .5 else grouped(r.randint(90000, 9900000)),
    "big": lambda r: grouped(r.randint(10_000, 40_000_000)),
    "k": lambda r: grouped(r.randint(1, 90) * 1000),
    "int": lambda r: str(r.randint(11, 990)),
    "few": lambda r: str(r.randint(2, 12)),
    "temp": lambda r: str(r.randint(2, 38)),
    "goal": lambda r: str(r.randint(0, 4)),
    "hour": lambda r: f"{r.randint(1, 12)}:{r.choice(['00', '15', '30', '45'])}",
    "ord": lambda r: r.choice(["first", "second", "third", "fourth"]),
    "com": lambda r: r.choice(COMMODITY),
    "cur": lambda r: r.choice(CURRENCY),
    "noun": lambda r: r.choice(NOUN),
    "verb": lambda r: r.choice(VERB),
    "adj": lambda r: r.choice(ADJ),
    "why": lambda r: r.choice(REASON),
}
NAMES = {"co", "short", "per", "last", "city", "ctry", "com", "cur"}
DATES = {"mon", "dow", "day", "yr", "ord"}
PROSE = {"noun", "verb", "adj", "why"}

# `|` separates paragraphs; a paragraph that begins with `?` is optional.
PATTERNS = {
    "quarter": "{co} {ord} qtr net|Shr {cts} cts vs {cts2} cts|Net {net} vs {net2}|Revs {mln} mln vs {mln2} mln|?Avg shrs {big} vs {big2}"
               "|?Note: {yr} net includes gain of {net3} dlrs, or {cts3} cts per share, from sale of assets.",
    "nine": "{co} {ord} qtr ended {mon} {day}|Oper shr {dlr} dlrs vs {dlr2} dlrs|Oper net {net} vs {net2}|Sales {mln} mln vs {mln2} mln|Nine mths"
            "|Oper shr {dlr3} dlrs vs {dlr4} dlrs|Oper net {net3} vs {net4}|Sales {mln3} mln vs {mln4} mln"
            "|?Note: Results exclude losses from discontinued operations of {net5} dlrs vs {net6} dlrs in quarter and {net7} dlrs vs {net8} dlrs in nine months.",
    "loss": "{co} year loss|Shr loss {cts} cts vs profit {cts2} cts|Net loss {net} vs profit {net2}|Revs {big} vs {big2}|Year|Shr loss {dlr} dlrs vs loss {dlr2} dlrs"
            "|Net loss {net3} vs loss {net4}|?Note: Current year includes tax credit of {net5} dlrs. Prior year restated.",
    "dividend": "Qtly div {div} cts vs {div2} cts prior|Pay {mon} {day}|Record {mon2} {day2}",
    "dividend2": "{co} sets quarterly|Qtly div {div} cts vs {div} cts prior|Pay {mon} {day}|Record {mon} {day2}",
    "payout": "{co} raises dividend|{city}, {mon} {day} - {co} said its board of directors raised the quarterly dividend on common stock to {div} cts a share from {div2} cts, "
              "payable {mon2} {day2} to shareholders of record on {mon} {day3}.|?The company said the increase reflects {adj} results and its confidence in the outlook for {noun}.",
    "split": "{co} votes stock split|The board of {co} declared a {few}-for-one split of its common stock, to be distributed on {mon} {day} to holders of record {mon2} {day2}."
             "|The company had {big} shares outstanding before the split. It said it intends to keep the annual dividend at {div} cts a share on the new stock.",
    "money": "U.K. money market given {rmln} mln stg help|{city}, {mon} {day} - The central bank said it provided the market with {rmln} mln stg of assistance during the {ord} session. "
             "This compares with its revised forecast of a shortage of around {rmln2} mln stg.|It bought {rmln3} mln stg of band one bank bills at {frac} pct and {rmln4} mln stg of band two bank bills at {frac2} pct."
             "|?Among the main factors affecting liquidity, bills maturing in official hands and the take-up of treasury bills will drain some {rmln5} mln stg while a rise in note circulation will take out around {rmln6} mln stg.",
    "fed": "Fed adds reserves via {few}-day repurchases|The Federal Reserve entered the government securities market to arrange {few}-day system repurchase agreements, a spokesman said.|Federal funds were trading at {frac} pct at the time of the action."
           "|?Economists had expected it to intervene because of {adj} reserve needs ahead of the settlement on {dow}.",
    "bills": "U.S. treasury bill auction|The Treasury said its weekly auction of three-month bills produced an average rate of {rate} pct, with a {rate2} pct rate on six-month bills."
             "|These rates compared with averages of {rate3} pct for the three- and {rate4} pct for the six-month bills sold last week.|The bond-equivalent yield on three-month bills was {rate5} pct. Accepted bids ranged from {rate6} pct to {rate7} pct and {int} pct of the bids at the high, or stopout rate, were taken."
             "|For six-month bills, the yield was {rate8} pct and the bids ranged from {rate9} pct to {rate10} pct with {int2} pct of the bids accepted.|The Treasury said it received {bil} billion dlrs of bids for the three-month bills, including {bil2} billion dlrs in noncompetitive bids from the public. It accepted {bil3} billion dlrs of bids.",
    "balances": "Treasury balances at Fed|Treasury balances at the Federal Reserve rose on {mon} {day} to {bil} billion dlrs on the books from {bil2} billion dlrs on the previous business day, the Treasury said in its latest budget statement."
                "|Balances in tax and loan note accounts fell to {bil3} billion dlrs from {bil4} billion dlrs on the same respective days.|The Treasury's operating cash balance totaled {bil5} billion dlrs on {mon} {day} compared with {bil6} billion dlrs on the day before.",
    "bond": "{co} issues {rmln} mln dlr eurobond|{city}, {mon} {day} - {co} is issuing a {rmln} mln dlr eurobond due {mon2} {day2}, {yr} paying {frac} pct and priced at {frac2} pct, lead manager {co2} said."
            "|The bond is available in denominations of {k} dlrs and will be listed in {city2}. The selling concession is {frac3} pct while management and underwriting combined pays {frac4} pct.|?The payment date is {mon2} {day2}.",
    "debt": "{co} files to offer debentures|{co} said it filed a registration statement with the Securities and Exchange Commission covering a {rmln} mln dlr issue of {frac} pct convertible subordinated debentures due {yr}."
            "|Proceeds will be used to repay short-term bank loans, to finance acquisitions and for general corporate purposes, the company said.|{co2} will be lead underwriter of the offering, with an overallotment option of {mln} mln dlrs.",
    "rating": "Agency may change ratings of {co}|The rating agency said it placed {rmln} mln dlrs of debt of {co} under review for a possible downgrade.|It cited {why} and {why2} and said the review will examine whether cash flow from {noun} remains sufficient to cover fixed charges."
              "|Under review are the company's {rate1} pct senior notes due {yr} and its {rate12} pct subordinated debentures.",
    "merger": "{co} to acquire {co2}|{city}, {mon} {day} - {co} said it signed a definitive agreement to acquire all the outstanding shares of {co2} for {frac} dlrs a share in cash, or about {mln} mln dlrs.|The transaction is subject to approval by shareholders and regulators and is expected to close by the end of {mon2}."
              "|{co2}, based in {city2}, makes {com} products and had sales of {mln2} mln dlrs in the year ended {mon3} {day2}. It has about {k} employees.|?{co} chairman {per} said the acquisition would broaden the company's base and improve its {noun}.",
    "stake": "{per} lifts stake in {co}|{per}, a {city} investor, told the Securities and Exchange Commission he raised his stake in {co} to {big} shares, or {pct} pct of the total, from {big2} shares, or {pct2} pct."
             "|In a filing, he said he bought {k} shares of the common stock between {mon} {day} and {mon} {day2} at {frac} to {frac2} dlrs each for investment purposes.|?He said he may buy or sell more shares depending on market conditions and has no plan to seek control of the company.",
    "tender": "{co} ends tender offer for {co2}|{co} said its {frac} dlr a share tender offer for {co2} expired at {hour} local time on {dow} with about {big} shares, or {pct} pct of those outstanding, tendered and not withdrawn.|It said it will complete the merger as soon as practicable and pay the same price for the remaining shares.",
    "officer": "{co} names new president|{co} said {per} was named president and chief operating officer, effective {mon} {day}, succeeding {per2}, who will retire after {few} years with the company.|{last}, who is {int} years old, joined the company in {yr} as vice president for {noun}.",
    "gdp": "{ctry} consumer prices rise {pct} pct in {mon}|{city}, {mon2} {day} - {ctry}'s consumer price index rose {pct} pct in {mon} after a {pct2} pct increase the month before, the National Statistics Institute said.|The index, base {yr}, stood at {rate1} against {rate12} in {mon} last year, a year-on-year rise of {pct3} pct."
           "|Food prices rose {pct4} pct while transport costs fell {pct5} pct and housing costs were up {pct6} pct.|?The government has forecast inflation of {pct7} pct for the whole year.",
    "trade": "{ctry} trade deficit narrows in {mon}|{ctry} had a provisional trade deficit of {bil} billion in {mon}, compared with a deficit of {bil2} billion in the previous month and a surplus of {bil3} billion a year earlier, the customs office said.|Exports rose {pct} pct to {bil4} billion while imports fell {pct2} pct to {bil5} billion."
             "|In the first {few} months of the year the cumulative deficit was {bil6} billion against {bil7} billion in the same period last year.",
    "jobless": "{ctry} unemployment {verb}|{ctry}'s seasonally adjusted unemployment rate was {pct} pct in {mon} compared with {pct2} pct in the preceding month and {pct3} pct a year ago, the Labour Ministry said.|The number of people out of work was {k} higher at {big}, while the number in work was {big2}.",
    "rates": "{city} foreign exchange rates, {mon} {day}|Dollar {fx} {fx2}|Sterling {fx3} {fx4}|Yen per 100 {fx5} {fx6}|Mark {fx7} {fx8}|French franc {fx9} {fx10}|Swiss franc {fx11} {fx12}|Guilder {fx13} {fx14}|Lira per 1000 {fx15} {fx16}|Belgian franc {fx17} {fx18}|Canadian dollar {fx19} {fx20}",
    "grain": "Posted county prices for {mon} {day}|Commodity Credit Corporation price list, in dollars per bushel|Hard red winter wheat {dlr} unchanged {dlr2}|Soft red winter wheat {dlr3} up {cts} cts|Corn yellow {dlr4} down {cts2} cts|Sorghum per hundredweight {dlr5}|Soybeans {dlr6} up {cts3} cts|Barley {dlr7}|Oats {dlr8} down {cts4} cts|Rye {dlr9}",
    "table": "{com} futures closing prices {mon} {day}|Month close change volume|Mar {frac} {frac2} {int}|May {frac3} {frac4} {int2}|Jul {frac5} {frac6} {int3}|Sep {frac7} {frac8} {int4}|Dec {frac9} {frac10} {int5}|Total volume {k} lots, open interest {big}",
    "metal": "{city} base metals stocks|Stocks in warehouses of the exchange for the week ended {mon} {day}, in tonnes:|Aluminium {big} up {int}|Copper {big2} down {int2}|Lead {big3} up {int3}|Nickel {big4} down {int4}|Tin {big5} unchanged|Zinc {big6} up {int5}|Silver {big7} ounces down {k}",
    "crop": "{ctry} {com} crop seen at {mln} mln tonnes|{city}, {mon} {day} - {ctry}'s {yr} {com} crop is estimated at {mln} mln tonnes, down from {mln2} mln harvested last year, the Agriculture Ministry said.|The area sown fell to {mln3} mln hectares because of {adj} prices and {why}.|Exports in the marketing year are put at {mln4} mln tonnes and end stocks at {mln5} mln.",
    "tender2": "{ctry} to tender for {com}|Private exporters said {ctry} will tender on {dow} for {k} tonnes of {com} for shipment between {mon} {day} and {mon2} {day2}.|Offers must be valid until {hour} local time. In its last tender the country bought {k2} tonnes at between {rate} and {rate2} dlrs a tonne, c and f.",
    "oil": "{co} raises crude postings|{city}, {mon} {day} - {co} said it raised its contract price for crude oil by {cts} cts a barrel, effective today.|The increase brings the company's posted price for West Texas Intermediate to {rate} dlrs a barrel. West Texas Sour was also raised, to {rate2} dlrs, and Light Louisiana Sweet to {rate3} dlrs a barrel.|?The last change was made on {mon} {day2}.",
    "rig": "Rig count {verb}|The number of active drilling rigs rose by {few} last week to a total of {int} compared with {int2} a year ago, the survey said.|Among individual states, the biggest drops were in Texas, down by {few2}, and Oklahoma, down by {few3}.|Offshore rigs totalled {int3}, up {few4} from the week before.",
    "weather": "{city} weather|Forecast for {dow}, {mon} {day}: {adj} winds, high {temp} low {temp2}. Chance of rain {int} pct.|Sunrise at {hour}, sunset at {hour2}. Tides high at {hour3} and {hour4}.|Outlook for the following days: highs between {temp3} and {temp4}, with rain by the end of the week.",
    "soccer": "{ctry} first division results|Results of matches played on {dow}:|{short} {goal} {short2} {goal2}|{short3} {goal3} {short4} {goal4}|{short5} {goal5} {short6} {goal6}|{short7} {goal7} {short8} {goal8}|{short9} {goal9} {short10} {goal10}|Attendance {big}",
    "standings": "League standings after {few} rounds|Played, won, lost, points|{short} {few2} {few3} {few4} {int}|{short2} {few5} {few6} {few7} {int2}|{short3} {few8} {few9} {few10} {int3}|{short4} {few11} {few12} {few13} {int4}|{short5} {few14} {few15} {few16} {int5}|{short6} {few17} {few18} {few19} {int6}",
    "tennis": "{city} open results|Second round of the men's singles (prefix number denotes seeding): {few}-{per} beat {per2} 6-{goal} 6-{goal2}, {few2}-{per3} beat {per4} 6-{goal3} 7-5, {per5} beat {few3}-{per6} 6-{goal4} 3-6 6-{goal5}, {per7} beat {per8} 6-{goal6} 6-{goal7}.",
    "quake": "Earthquake shakes {ctry}|An earthquake measuring {pct} on the open-ended Richter scale shook {ctry} on {dow}, the seismological institute in {city} said.|The tremor was recorded at {hour} and its epicenter was about {int} km from {city2}. There were no immediate reports of casualties or damage.",
    "ship": "Shipping movements at {city}|{int} vessels were in port on {mon} {day}, {few} of them loading {com} and {few2} discharging. Waiting time for a berth was {few3} days.|{short} and {short2} are due on {mon} {day2} with {k} tonnes of {com2} and {k2} tonnes of fertilizer.",
    "layoff": "{co} to close plant|{co} said it will close its {city} plant by the end of {mon} and lay off about {int} employees because of {why}.|It expects to take a charge of {mln} mln dlrs, or {cts} cts a share, in the {ord} quarter. The plant, built in {yr}, makes parts for the {com} industry.",
    "contract": "{co} gets {mln} mln dlr contract|{co} said it received a {mln} mln dlr contract from the Defense Department for {int} units and spare parts. Work will be done in {city} and is expected to be completed in {mon} {yr}.|?The company has delivered {int2} units since {yr2} under earlier awards worth {mln2} mln dlrs.",
    "court": "Court rules on {co}|A federal judge in {city} dismissed a suit by {co} against {co2} that sought {mln} mln dlrs in damages over patents for {com} processing.|Judge {per} said the company had failed to show that it was harmed. {last}, a lawyer for the plaintiff, said it would appeal.",
    "sales": "{co} {mon} sales up {pct} pct|Sales for the {few} weeks ended {mon} {day} rose {pct} pct to {mln} mln dlrs from {mln2} mln dlrs in the same period last year.|Year-to-date sales were {mln3} mln dlrs, up {pct2} pct. On a comparable store basis sales were up {pct3} pct for the month.|The company operates {int} stores.",
    "cars": "{co} early {mon} car sales|{co} said its car sales in the {day} selling days of {mon} were {k}, a daily rate {pct} pct below last year's {big}. Truck sales were {big2} against {big3}.|For the year to date car sales total {big4} versus {big5}, a decline of {pct2} pct.",
    "disclosure": "{co} discloses holding|{co} holds {pct} pct of {co2} under section 5 of the Act. This announcement has been issued through the company news service of the exchange. The issuer is solely responsible for its content. Holdings below the threshold need not be disclosed, and the regulator takes no position on the figures above."
                  "|Total number of securities held: {big}. Date of disclosure: {mon} {day}.",
    "guarantee": "Credit guarantees for {ctry}|The farm credit agency announced an additional {rmln} mln dlrs in credit guarantees for sales of {com} to {ctry} under its export credit program for the fiscal year, the department said."
                 "|The additional guarantees increase the {com} guarantee line to {rmln2} mln dlrs and the cumulative program for {ctry} to {rmln3} mln dlrs. To be eligible for coverage under the additional guarantees, all sales must be registered by September 30 and shipments completed by December 31, 1987, the department said. The guarantees cover up to 98 pct of the port value and interest of up to 4 pct.",
    "bonus": "Bonus {com} for {ctry}|The department accepted {few} bids for export bonuses to cover sales of {k} tonnes of {com} to {ctry}.|It said the bonuses averaged {rate} dlrs a tonne and were made to {co}. The bonus awards will be paid in the form of commodities from the inventory of stocks. The purchases complete the sales announced under the export enhancement program on {mon} {day}. An additional {k2} tonnes of {com} are still available to {ctry} under the program.",
    "listing": "Exchange lists options on {co}|The exchange said it began trading options on the common stock of {co} today. Position limits are set at 8,000 contracts on the same side of the market, with expirations in {mon}, {mon2} and {mon3} and strike prices at 5-point intervals. Options on the shares also trade on two other exchanges, which will keep their present cycle until the contracts of the current year have expired.",
    "prime": "{co} raises prime rate|{co} said it is raising its prime lending rate to {frac} pct from {frac2} pct, effective {mon} {day}. The bank, the latest to act after several large lenders moved this week, gave no other reason than the higher cost of money. The prime rate is the base for loans to companies and for some consumer credit.",
    "margin": "Exchange changes {com} margins|The exchange said it will change margin requirements for {com} futures, effective at the close of business on {dow}. Initial margins for speculative accounts will be {k} dlrs per contract, compared with {k2} dlrs previously, while hedge margins remain at the present level. Clearing members must meet calls within one hour, and spread positions in the same crop year are exempt from the change.",
    "sec": "{per} has {pct} pct of {co}|{per} told the Securities and Exchange Commission he has acquired {big} shares of {co}, or {pct} pct of its outstanding common stock. He said he bought the stock as an investment and for {mln} mln dlrs in open market transactions. He said he might buy more shares in the open market, privately or otherwise, or sell some or all of his holding, and that he had no plans to seek representation on the board of directors. Any person who owns more than 5 pct of a company must report within 10 days.",
    "notice": "Meeting of {co}|Notice is given that the annual general meeting of shareholders of {co} will be held at {hour} on {mon} {day}, {yr} in {city} to receive the accounts, to declare a dividend of {div} cts a share, to elect directors and to transact the ordinary business of the company. A member entitled to attend and vote may appoint a proxy, who need not be a member. Forms must reach the registrar at least 48 hours before the meeting.",
    "tap": "Central bank sells {rmln} mln of tap stock|The central bank said it sold {rmln} mln of government stock at {frac} pct, due {yr}. The tranche was allotted by tender at a minimum price, and where applications exceeded the amount on offer they were scaled down in proportion. Settlement takes place on {dow}. The stock is repayable at par and interest is paid without deduction of tax to holders abroad.",
    "note": "{co} unit sells notes|{co2} is offering {rmln} mln dlrs of notes of {co} with a coupon of {frac} pct and a price of par, said the sole manager. The notes are not callable for three years and are rated single-A by both agencies. They were priced {int} basis points over comparable treasury securities.",
    "recall": "{co} recalls products|The safety commission said {co} is recalling about {k} units sold between {mon} {yr} and {mon2} {yr2} after {few} reports of overheating. Consumers should stop using the products at once and return them to the store where they were bought for a full refund or a repair free of charge. No injuries have been reported. The item numbers are {int} and {int2}.",
}

# What an update appends: commentary with facts of its own.
COMMENT = [
    "{per}, an analyst with {co}, said the figures showed that {noun} would {verb} in the coming months.",
    "He said {adj} {noun} and {why} were the main factors.",
    "Dealers said the market had expected a {adj} {noun} figure and prices hardly moved.",
    "The announcement came after the close of trading. The stock last traded at {frac}, down {frac2} on volume of {big} shares.",
    "In {city}, {per} told reporters that {noun} should {verb} by {pct} pct this year, helped by {why}.",
    "{co} has about {k} employees and operations in {ctry} and {ctry2}.",
    "The {cur} was quoted at {fx} in late trading in {city} after an {adj} day.",
    "Officials declined to comment further, but a source close to the talks said a decision was unlikely before {mon}.",
    "Analysts noted that {noun} had been {adj} since {mon}, when {why} began to affect {noun2}.",
    "The company said it remained confident about {noun} despite {why}, and would review {noun2} in the {ord} half.",
    "A spokesman in {city} said further details would be given at the annual meeting on {mon} {day}.",
    "{per} said the government would not change its policy on {noun} and expected {noun2} to {verb}.",
    "Some traders said reports of {why} had kept buyers away, while others spoke of {adj} interest from {ctry}.",
    "In the previous year {noun} had been hurt by {why}, he added.",
]
CHANGES = ("said:announced rose:climbed fell:dropped about:around company:firm expected:due because:since also:further will:would "
           "board:directors total:overall compared:against increase:rise agreement:accord bought:purchased sold:disposed "
           "new:fresh main:chief between:from").split()
FILLER = "the of in on at by for with that which still again now today later however about".split()
REWORDED = {"pct": "percent", "mln": "million", "dlrs": "dollars", "cts": "cents", "shr": "share", "revs": "revenues", "qtly": "quarterly"}
SMALL = dict(zip("2 3 4 5 6 7 8 9".split(), "two three four five six seven eight nine".split()))
NUMBER = re.compile(r"\d[\d.,]*\d|\d")


def kind_of(slot):
    return slot if slot in SLOTS else re.sub(r"\d+$", "", slot)


def fill(template, r, values):
    def value(match):
        slot = match.group(1)
        if slot not in values:
            values[slot] = SLOTS[kind_of(slot)](r)
        return values[slot]
    return re.sub(r"\{(\w+)\}", value, template)


def paragraphs(pattern, r, values, optional):
    parts = []
    for i, part in enumerate(PATTERNS[pattern].split("|")):
        if part[0] != "?" or optional.setdefault(i, r.random() < .6):
            parts.append(fill(part.lstrip("?"), r, values))
    return parts


def comment(r):
    return fill(r.choice(COMMENT), r, {})


def article(pattern, r, values, optional):
    return paragraphs(pattern, r, values, optional)


def other_facts(kind, r, values):
    """Selects the facts that the second article shares with the first."""
    kept = {}
    for slot, value in values.items():
        base = kind_of(slot)
        same = {"other": .05, "same day": .95 if base in DATES else .05, "same company": .95 if base in NAMES else .08,
                "half": .85 if base in NAMES | DATES and base not in ("day", "dow") else .45,
                "other name": .95 if base in DATES else (.3 if base in NAMES else .15)}[kind]
        if base in PROSE:
            same = .5
        if r.random() < same:
            kept[slot] = value
    return kept


def correct_number(text, r):
    spots = list(NUMBER.finditer(text))
    if not spots:
        return text
    spot = r.choice(spots)
    digits = list(spot.group())
    at = r.choice([i for i, c in enumerate(digits) if c.isdigit()])
    digits[at] = r.choice([d for d in "123456789" if d != digits[at]])
    return text[:spot.start()] + "".join(digits) + text[spot.end():]


def edit_words(text, share, r):
    changes = dict(change.split(":") for change in CHANGES)
    words = []
    for w in text.split(" "):
        if r.random() >= share or any(c.isdigit() for c in w) or "\n" in w:
            words.append(w)
        elif w in changes and r.random() < .7:
            words.append(changes[w])
        else:
            how = r.random()
            if how < .3:
                continue
            if how < .6:
                words += [w, r.choice(FILLER)]
            elif how < .85:
                words.append(r.choice(FILLER))
            else:
                at = r.randrange(len(w) + 1)
                words.append(w[:at] + r.choice("aeinrst") + w[at:])
    return " ".join(words)


def reword(text, r):
    for short, long in REWORDED.items():
        if r.random() < .6:
            text = re.sub(rf"\b{short}\b", long, text)
    return re.sub(r"(?<![-.,/:\d])[2-9]\b(?![-.,/:]\d)", lambda m: SMALL[m.group()] if r.random() < .4 else m.group(), text)


def edited(parts, r):
    """Returns an edited copy and the names of its edits."""
    parts, done = list(parts), []
    for _ in range(r.choice([1, 1, 2, 2, 3])):
        kind = r.choice(["words", "words", "number", "append", "append", "cut", "headline", "dateline", "sentence", "reword", "insert", "resend", "figures", "order"])
        done.append(kind)
        if kind == "words":
            share = r.uniform(.01, .15)
            parts = [edit_words(p, share, r) for p in parts]
        elif kind == "number":
            i = r.randrange(len(parts))
            parts[i] = correct_number(parts[i], r)
        elif kind == "figures":
            # A later version that updates up to a quarter of the figures.
            count = len(NUMBER.findall(" ".join(parts)))
            for _ in range(r.randint(1, max(1, count // 4))):
                i = r.randrange(len(parts))
                parts[i] = correct_number(parts[i], r)
        elif kind == "order" and len(parts) > 3:
            i = r.randrange(1, len(parts) - 1)
            parts[i:] = parts[i + 1:] + [parts[i]]
        elif kind == "append":
            parts += [comment(r) for _ in range(r.randint(1, 5))]
        elif kind == "cut" and len(parts) > 2:
            parts = parts[:r.randint(max(2, len(parts) // 2), len(parts) - 1)]
        elif kind == "headline":
            parts = r.choice([parts[1:], ["CORRECTION - " + parts[0]] + parts[1:], [fill("{adj} {noun} seen", r, {}) + " - update"] + parts[1:]]) or parts
        elif kind == "dateline":
            parts[0] = fill(r.choice(["{city}, {mon} {day} - ", "({city}) ", "{dow}: "]), r, {}) + parts[0]
        elif kind == "sentence":
            i = r.randrange(len(parts))
            parts[i] = edit_words(parts[i], .5, r)
        elif kind == "reword":
            parts = [reword(p, r) for p in parts]
        elif kind == "insert":
            parts.insert(r.randint(1, len(parts)), comment(r))
        elif kind == "resend":
            parts = parts + [r.choice(["Reuter 3", "-- more --", "(repeats to more subscribers)", "This corrects an earlier item."])]
    return parts, "+".join(sorted(set(done)))


def jaccard3(a, b):
    def shingles(text):
        w = re.findall(r"\w+", text.lower())
        return {tuple(w[i:i + 3]) for i in range(len(w) - 2)}
    x, y = shingles(a), shingles(b)
    return len(x & y) / len(x | y) if x | y else 0.0


def pairs(seed, per_pattern):
    r = random.Random(seed)
    for pattern in PATTERNS:
        counts = {True: 0, False: 0}
        for _ in range(per_pattern * 12):
            copy = r.random() < .5
            if counts[copy] >= per_pattern:
                continue
            values, optional = {}, {}
            first = article(pattern, r, values, optional)
            # Some articles have additional commentary, so that the pattern is not the whole text.
            extra = [comment(r) for _ in range(r.choice([0, 0, 1, 2, 3]))]
            if copy:
                second, kind = edited(first + extra, r)
                first = first + extra
            else:
                kind = r.choice(["other", "same day", "same company", "half", "other name"])
                second = article(pattern, r, other_facts(kind, r, values), dict(optional) if r.random() < .6 else {})
                first = first + extra[:r.choice([0, 1])]
                second = second + [comment(r) for _ in range(r.choice([0, 0, 1]))]
            joint = r.choice(["\n", "\n\n", " "])
            a, b = joint.join(first), joint.join(second)
            if r.random() < .5:
                a, b = b, a
            if .3 <= jaccard3(a, b) < 1:
                counts[copy] += 1
                yield {"set": "forms", "kind": f"{pattern}/{kind}", "copy": copy, "a": a, "b": b}


if __name__ == "__main__":
    for pair in pairs(int(sys.argv[1]) if len(sys.argv) > 1 else 1, 40):
        print(json.dumps(pair))
